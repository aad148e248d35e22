#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "fixtures/batch.h"
#include "fixtures/data_source.h"
#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"
#include "models/gradient_reduction.h"
#include "models/layout.h"
#include "models/loss_scale.h"
#include "models/mode.h"
#include "models/table.h"
#include "ops/backends/operators/quantized_layers.h"
#include "ops/cuda/graphs.h"

namespace fathom::models {

/// The batches of a step: more than one, so that no step finds its input in the cache.
inline constexpr int kBatches = 4;

/// The phases of a training step, then those of generation. Inference has the first one only.
enum class Phase { kForward, kBackward, kUpdate, kPrefill, kDecode };

inline constexpr std::array<std::string_view, 5> kPhaseNames{"forward", "backward", "update",
                                                             "prefill", "decode"};

constexpr std::string_view name(Phase phase) {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

/// The batch size of a mode where --fathom_batch gives none.
int64_t default_batch(const WorkloadRow& row, Mode mode);

struct StepOptions {
  Mode mode = Mode::kTrain;
  fixtures::Device device = fixtures::Device::kCpu;
  /// A quantised one is of inference on the CPU, while the kernels of a set that has those of
  /// ops::QuantizedLayers are installed; without them the step runs in fp32.
  fixtures::Precision precision = fixtures::Precision::kFp32;
  int64_t batch = 1;
  int64_t context = 0;  ///< tokens of a prompt or in a decoder's cache; 0: own_context()
  uint64_t seed = 0;
  Scale scale = Scale::kFull;
  Layout layout = Layout::kContiguous;  ///< of images and filters of networks with convolutions
  fixtures::DataSource data = {};
  StepRanks ranks = {};  ///< of a training step
};

/// The context of a step; 0: it has none.
int64_t context_of(const WorkloadRow& row, const StepOptions& options);

/// A step of a workload on a few batches that are already on the device. Forward, backward and
/// update are separate calls, so that phases, memory and profiles are measured on the same code as
/// the time.
class Step {
 public:
  /// With several ranks, all of them construct it. Throws std::runtime_error where their first
  /// reduced gradients are not the mean of their own.
  Step(const WorkloadRow& row, const StepOptions& options);

  /// Runs one step on the next batch. Does not wait for the device. Calls `done` after each phase;
  /// a captured step has none.
  void run(const std::function<void(Phase)>& done = [](Phase) {});

  /// The same without reducing the gradients; the parameters of the ranks then differ.
  void run_local();

  /// Calls `done` after the phases of generation.
  void forward(const std::function<void(Phase)>& done = [](Phase) {});
  void backward();
  void update();

  /// Goes on with batches of another size: of a training step of one process, before capture().
  void load(int64_t batch);

  /// Captures the step on each batch as a CUDA graph, after one more step on each; run() then
  /// replays the graphs. They read the batches where they are, so a replay copies nothing. Throws
  /// std::runtime_error for a step that cannot be captured, with the call of LibTorch.
  void capture();

  /// The scalar loss (train) or the outputs of the last forward().
  const at::Tensor& result() const { return result_; }
  /// The batches. The steps use them cyclically.
  const std::vector<fixtures::Batch>& batches() const { return inputs_.batches; }
  /// Number of broken items of the data set that were skipped.
  int64_t skipped_items() const { return inputs_.skipped_items; }
  /// The expected shape of result().
  std::vector<int64_t> result_shape() const;

  /// Number of elements of all trainable parameters.
  int64_t parameter_count() const;
  /// Whether the network has convolutions: filters, which have four dimensions.
  bool has_convolutions() const;

  Workload& workload() { return *workload_; }
  /// Null in a precision that quantises nothing.
  const ops::QuantizedLayers* quantized() const { return quantized_.get(); }
  /// Null without a group of ranks.
  GradientReduction* reduction() { return reduction_.get(); }
  const StepOptions& options() const { return options_; }

 private:
  void run_next(const std::function<void(Phase)>& done);
  bool has_channels_last() const;
  void quantize();
  void connect_ranks();
  int rounds() const;

  StepOptions options_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<GradientReduction> reduction_;
  bool reduces_ = true;                  ///< false while run_local() runs
  at::Tensor loss_factor_;               ///< undefined: 1
  std::optional<LossScale> loss_scale_;  ///< of training in fp16
  std::unique_ptr<ops::QuantizedLayers> quantized_;
  fixtures::BatchSet inputs_;
  std::size_t next_ = 0;
  at::Tensor result_;
  std::vector<at::Tensor> results_;  ///< of the graphs; a replay writes its own
  std::unique_ptr<ops::CudaGraphs> graphs_;
};

}  // namespace fathom::models
