#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "fixtures/batch.h"
#include "fixtures/data_source.h"

namespace torch::nn {
class Module;  // not included here: its header includes about 4,000 others
}

namespace fathom::models {

/// Size of the network. kFull is the paper's size. kSmall has the same topology, but a step takes
/// only milliseconds; tests use it.
enum class Scale { kFull, kSmall };

/// Bytes that an inference reads.
struct BytesRead {
  double weights;
  double cache;  ///< what is known of earlier tokens

  double total() const { return weights + cache; }
};

/// A network with its data, loss and optimizer. Keeps the weights and other state between calls.
class Workload {
 public:
  virtual ~Workload() = default;

  /// Batches of the data set, read from files or synthetic with the statistics of the real data.
  /// Equal requests give identical batches. Throws fixtures::DataError if files cannot be used.
  virtual fixtures::BatchSet batches(const fixtures::BatchRequest& request) const = 0;
  /// The shape of infer()'s result for `batch` samples.
  virtual std::vector<int64_t> output_shape(int64_t batch) const = 0;

  /// Called once, with the first of the batches that infer() gets, in the precision of the steps.
  /// A decoder fills its cache here, outside the step.
  virtual void prepare_inference(const fixtures::Batch& /*batch*/) {}
  /// The outputs of the network, of shape output_shape().
  virtual at::Tensor infer(const fixtures::Batch& batch) = 0;
  /// Reads the prompts of a batch whose request has `generates`, calls prefilled(), and decodes the
  /// tokens after them, in turn. Gives the last ones' outputs.
  virtual at::Tensor generate(const fixtures::Batch& /*batch*/,
                              const std::function<void()>& /*prefilled*/) {
    throw std::logic_error("this workload generates nothing");
  }
  /// What infer() reads of weights and caches, where reading them is most of its work.
  virtual std::optional<BytesRead> infer_bytes() const { return std::nullopt; }
  /// The scalar loss that training minimises.
  virtual at::Tensor loss(const fixtures::Batch& batch) = 0;
  /// Applies the gradients with the optimizer, then frees them.
  virtual void update() = 0;
  /// The loss that the next update() decides by, for its mean over all ranks; null: it needs none.
  virtual at::Tensor* loss_in_update() { return nullptr; }
  /// Draws again what loss() and infer() draw on the CPU. Called before a step is captured as a
  /// CUDA graph and before each replay, which repeats only the GPU's work: from the first call on,
  /// loss() and infer() read what this call drew.
  virtual void draw_for_replay() {}
  /// Rounds of loss, backward and update in a training step. A GAN updates
  /// its critic several times, then its generator.
  virtual int updates_per_step() const { return 1; }

  virtual torch::nn::Module& module() = 0;
  /// The optimizer's state tensors. Empty before the first update.
  virtual std::vector<at::Tensor> optimizer_state() const = 0;
};

}  // namespace fathom::models
