#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ops/backends/operators/replacement.h"
#include "ops/core/buffer.h"
#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops::onednn {

/// Whether oneDNN can read the memory of a tensor.
bool is_readable(const at::Tensor& tensor);

/// An empty image [N, C, H, W] in the memory format of another one.
at::Tensor image_like(const at::Tensor& other, c10::IntArrayRef sizes);

class Prepared;

/// The memory of a call, in the order in which its problem names it.
class Call {
 public:
  /// A call of several kernels has one for each `part`.
  explicit Call(KeptPointer& kept, int64_t part = 0) : kept_(kept), part_(part) {}

  /// Adds a tensor that the kernel reads or writes.
  Buffer operator()(const at::Tensor& tensor) {
    const Buffer made = buffer(tensor);
    memory_.push_back(made.data);
    return made;
  }

  /// The kernel for the call, which it makes at the first one; null where oneDNN has none.
  Prepared* kernel(const Problem& problem);

  const std::vector<void*>& memory() const { return memory_; }

 private:
  KeptPointer& kept_;
  int64_t part_;
  std::vector<void*> memory_;
};

/// A kernel and the memory that it was made for.
class Prepared {
 public:
  Prepared(std::unique_ptr<Kernel> kernel, const Call& call)
      : kernel_(std::move(kernel)), memory_(call.memory()) {}

  /// Runs it over the memory of another call. `parts` replace the kernel's own.
  void run(const Call& call, const std::vector<std::pair<Kernel::Part, at::Tensor>>& parts = {});

  std::size_t workspace_bytes() const { return kernel_->place(Kernel::Part::kWorkspace).bytes; }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::vector<void*> memory_;
  std::map<Kernel::Part, void*> parts_;
};

/// Runs the kernel for `problem` over the memory of `call`, which writes `results`, and returns
/// them. Nothing where oneDNN has no such kernel.
std::optional<Results> run(Call& call, const Problem& problem, Results results);

// Operators of images [N, C, H, W]. Each .cc says the arguments and results.
std::optional<Results> convolution(Arguments in, KeptPointer& kept);
std::optional<Results> convolution_backward(Arguments in, KeptPointer& kept);
std::optional<Results> max_pool(Arguments in, KeptPointer& kept);
std::optional<Results> max_pool_backward(Arguments in, KeptPointer& kept);
std::optional<Results> avg_pool(Arguments in, KeptPointer& kept);
std::optional<Results> avg_pool_backward(Arguments in, KeptPointer& kept);
std::optional<Results> batch_norm(Arguments in, KeptPointer& kept);
std::optional<Results> batch_norm_backward(Arguments in, KeptPointer& kept);

// A layer of an LSTM.
std::optional<Results> lstm_layer(Arguments in, KeptPointer& kept);
std::optional<Results> lstm_layer_backward(Arguments in, KeptPointer& kept);

/// ReLU, hardtanh, sigmoid and tanh with their gradients.
std::vector<Replacement> elementwise_operators();

}  // namespace fathom::ops::onednn
