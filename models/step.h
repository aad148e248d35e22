#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "fixtures/batch.h"
#include "fixtures/data_source.h"
#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"
#include "models/mode.h"
#include "models/table.h"

namespace fathom::models {

enum class Phase { kForward, kBackward, kUpdate };

inline constexpr std::array<std::string_view, 3> kPhaseNames{"forward", "backward", "update"};

constexpr std::string_view name(Phase phase) {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

/// Fathom's batch size for a mode of a workload.
int64_t default_batch(const WorkloadRow& row, Mode mode);

struct StepOptions {
  Mode mode = Mode::kTrain;
  fixtures::Device device = fixtures::Device::kCpu;
  fixtures::Precision precision = fixtures::Precision::kFp32;
  int64_t batch = 1;
  uint64_t seed = 0;
  Scale scale = Scale::kFull;
  fixtures::DataSource data = {};
};

/// A workload's step over a small pool of batches that already lie on the device. Forward, backward
/// and update can be called apart, so that phases, memory and profiles see the very step that is
/// timed.
class Step {
 public:
  Step(const WorkloadRow& row, const StepOptions& options);

  /// One whole step on the next batch; does not wait for the device. `done` hears of each phase as
  /// it ends, of an inference only the forward pass.
  void run(const std::function<void(Phase)>& done = [](Phase) {});

  void forward();
  void backward();
  void update();

  /// The scalar loss (train) or the outputs (infer) of the last forward().
  const at::Tensor& result() const { return result_; }
  /// The pool that the steps take in turns.
  const std::vector<fixtures::Batch>& batches() const { return pool_.batches; }
  /// Broken items of the data set that were left out.
  int64_t skipped_items() const { return pool_.skipped_items; }
  /// What result() must look like.
  std::vector<int64_t> result_shape() const;

  /// Elements of the trainable parameters.
  int64_t parameter_count() const;

  Workload& workload() { return *workload_; }
  const StepOptions& options() const { return options_; }

 private:
  StepOptions options_;
  std::unique_ptr<Workload> workload_;
  fixtures::Pool pool_;
  std::size_t next_ = 0;
  at::Tensor result_;
};

}  // namespace fathom::models
