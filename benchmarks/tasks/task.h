#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fathom::benchmarks {

using Counters = std::vector<std::pair<std::string, double>>;  ///< by their JSON names

/// What is known of one step. What is not known has no value.
struct StepCounts {
  std::optional<double> items;
  std::optional<double> flops;
  std::optional<double> bytes;  ///< read and written at least
  double working_set = 0;       ///< bytes of memory that a step touches
  Counters counters;            ///< further ones
  std::string label;
};

/// The work of a benchmark row: built once, then run any number of times.
class Task {
 public:
  virtual ~Task() = default;
  /// One step. May return before the device has finished.
  virtual void run() = 0;
  /// A warm-up step, which may also count what it runs.
  virtual void warm_up_step() { run(); }
  /// Called after the intra-op thread count has changed, and before the first step.
  virtual void threads_changed() {}
  /// After the first step: throws std::runtime_error with what was found and expected.
  virtual void check() = 0;
  /// After the last step, however many there were: throws where the result is no longer finite.
  virtual void check_finite() = 0;
  virtual StepCounts counts() const = 0;
  /// Mean times of a step's phases over `steps` further steps; empty for a step of one phase.
  virtual Counters phases_us(int64_t /*steps*/) { return {}; }
};

}  // namespace fathom::benchmarks
