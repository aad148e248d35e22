#pragma once

#include <memory>

#include "benchmarks/tasks/task.h"
#include "fixtures/machine/device.h"
#include "fixtures/ranks/group.h"

namespace fathom::benchmarks {

/// What one of several ranks runs for a row. All ranks call the same functions in the same order.
class RankTask : public Task {
 public:
  RankTask(std::shared_ptr<const fixtures::Group> group, fixtures::Device device)
      : group_(std::move(group)), device_(device) {}

  const fixtures::Group& group() const { return *group_; }
  fixtures::Device device() const { return device_; }

  /// Whether a step also computes, so that run_local() makes sense.
  virtual bool computes() const = 0;
  /// Runs one step without communication. The state of the ranks then differs.
  virtual void run_local() = 0;
  /// Copies rank 0's state to the other ranks.
  virtual void equalize() = 0;
  /// Throws std::runtime_error unless the state of all ranks is the same to the last bit.
  virtual void check_ranks() = 0;
  /// Runs `steps` steps; returns means of their communication.
  virtual Counters watch(int64_t steps) = 0;

 private:
  std::shared_ptr<const fixtures::Group> group_;
  fixtures::Device device_;
};

}  // namespace fathom::benchmarks
