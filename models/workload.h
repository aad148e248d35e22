#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "fixtures/batch.h"
#include "fixtures/data_source.h"

namespace torch::nn {
class Module;  // whose header brings 4,000 others
}

namespace fathom::models {

/// How large to build: kFull is the paper's network, kSmall keeps its topology and shrinks it until
/// a step takes milliseconds (tests).
enum class Scale { kFull, kSmall };

/// A network with its data, loss and optimizer. Between calls it keeps the weights and whatever
/// state the next batch needs.
class Workload {
 public:
  virtual ~Workload() = default;

  /// Batches of its data set, from files or made up with the statistics of the real data; the same
  /// bits for the same request. Throws fixtures::DataError for files that cannot be used.
  virtual fixtures::Pool pool(const fixtures::PoolRequest& request) const = 0;
  /// What infer() must return for `batch` samples.
  virtual std::vector<int64_t> output_shape(int64_t batch) const = 0;

  virtual at::Tensor infer(const fixtures::Batch& batch) = 0;
  /// The scalar that training minimises.
  virtual at::Tensor loss(const fixtures::Batch& batch) = 0;
  /// Applies the gradients and drops them.
  virtual void update() = 0;
  /// Rounds of loss, backward and update in a training step; two for an adversarial pair, which
  /// takes turns.
  virtual int updates_per_step() const { return 1; }

  virtual torch::nn::Module& module() = 0;
  /// Tensors that the optimizer keeps beside the parameters; empty before the first update.
  virtual std::vector<at::Tensor> optimizer_state() const = 0;
};

}  // namespace fathom::models
