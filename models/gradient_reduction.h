#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/ranks/group.h"
#include "models/workload.h"

namespace c10d {
class Logger;
class Reducer;
}  // namespace c10d

namespace fathom::models {

/// c10d's default, which is that of DistributedDataParallel.
inline constexpr int64_t kBucketBytes = 25 << 20;

/// The ranks of a training step, each with a batch of its own.
struct StepRanks {
  std::shared_ptr<const fixtures::Group> group = nullptr;  ///< null: one process without a group
  int64_t bucket_bytes = kBucketBytes;                     ///< but 1 MiB for the first bucket

  int rank() const { return group == nullptr ? 0 : group->rank(); }
  int size() const { return group == nullptr ? 1 : group->size(); }
};

/// What the ranks reduced.
struct Communication {
  double seconds = 0;     ///< from the start of the first bucket to the end of the last, each round
  double overlapped = 0;  ///< seconds of it during which backward() computed
  double bytes = 0;       ///< of gradients
  int64_t buckets = 0;
};

/// Averages the gradients of several ranks while backward() computes them. The work is c10d's
/// Reducer, as in PyTorch's DistributedDataParallel: gradients go in buckets, in the order in which
/// they are ready (Li et al., "PyTorch Distributed", VLDB 2020, section 3.2). A round of a step,
/// such as the update of one of a GAN's networks, has a reducer for the parameters that get
/// gradients in it.
class GradientReduction {
 public:
  /// Copies rank 0's parameters to all ranks.
  GradientReduction(Workload& workload, const StepRanks& ranks);
  ~GradientReduction();
  GradientReduction(const GradientReduction&) = delete;
  GradientReduction& operator=(const GradientReduction&) = delete;

  /// Makes the reducer of `round` from a forward() and backward() that was not reduced. Takes its
  /// gradients and averages them, one by one, for check().
  void learn(int round);
  /// Compares the gradients with the averages of learn(). Throws std::runtime_error.
  void check(int round);

  void before_forward(int round);
  void before_backward();
  /// Also in a step that is not reduced, which calls none of the others.
  void after_backward();

  /// Throws std::runtime_error unless all bits of the parameters are equal on all ranks.
  void check_parameters() const;
  /// Copies rank 0's parameters and optimizer state to all ranks, which differ after steps that
  /// were not reduced.
  void copy_from_rank_0();

  /// Adds up the communication of the steps until stop_watching().
  void watch() { watched_ = Communication{}; }
  Communication stop_watching() { return std::exchange(watched_, {}).value(); }

  const fixtures::Group& group() const { return *ranks_.group; }

 private:
  /// The parameters of one or more rounds.
  struct Part {
    std::vector<std::size_t> parameters;  ///< indices into parameters_
    std::shared_ptr<c10d::Reducer> reducer;
    std::unique_ptr<c10d::Logger> logger;
  };

  Part make_part(const std::vector<std::size_t>& parameters) const;

  Workload& workload_;
  StepRanks ranks_;
  std::vector<std::pair<std::string, at::Tensor>> parameters_;
  std::vector<Part> parts_;
  std::vector<std::size_t> part_of_round_;
  Part* current_ = nullptr;           ///< that of the round that runs
  std::vector<at::Tensor> averages_;  ///< of learn(), for each parameter; undefined: no gradient
  at::Tensor loss_;                   ///< averaged, where the update needs the loss
  std::optional<Communication> watched_;
};

}  // namespace fathom::models
