#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ops/backends/operators/replaced_operators.h"
#include "ops/core/buffer.h"
#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops::onednn {

/// Whether oneDNN can read the memory of a tensor.
bool is_readable(const at::Tensor& tensor);

/// An empty image [N, C, H, W] in the memory format of another one.
at::Tensor image_like(const at::Tensor& other, c10::IntArrayRef sizes);

/// The memory of a call, in the order in which its problem names it.
class Call {
 public:
  /// A call of several kernels has a key for each `part`.
  explicit Call(CallKey key, int64_t part = 0) : key_(std::move(key)) { key_.push_back(part); }

  /// Adds a tensor that the kernel reads or writes.
  Buffer operator()(const at::Tensor& tensor) {
    const Buffer made = buffer(tensor);
    memory_.push_back(made.data);
    return made;
  }

  const CallKey& key() const { return key_; }
  const std::vector<void*>& memory() const { return memory_; }

 private:
  CallKey key_;
  std::vector<void*> memory_;
};

/// A kernel and the memory that it was made for.
class Prepared {
 public:
  /// The kernel for a call; null where oneDNN has none.
  static Prepared* of(const Call& call, const Problem& problem);

  /// Destroys the kernels of a call, with their memory.
  static void forget(const CallKey& key);

  /// Runs it over the memory of another call. `parts` replace the kernel's own.
  void run(const Call& call, const std::vector<std::pair<Kernel::Part, at::Tensor>>& parts = {});

  std::size_t workspace_bytes() const { return kernel_->place(Kernel::Part::kWorkspace).bytes; }

 private:
  static std::map<CallKey, Prepared>& all();

  std::unique_ptr<Kernel> kernel_;
  std::vector<void*> memory_;
  std::map<Kernel::Part, void*> parts_;
};

/// Runs the kernel for `problem` over the memory of `call`. False where oneDNN has none.
bool run(const Call& call, const Problem& problem);

// Operators of images [N, C, H, W]. Each .cc says the arguments and results.
std::optional<Results> convolution(Arguments in, const CallKey& key);
std::optional<Results> convolution_backward(Arguments in, const CallKey& key);
std::optional<Results> max_pool(Arguments in, const CallKey& key);
std::optional<Results> max_pool_backward(Arguments in, const CallKey& key);
std::optional<Results> avg_pool(Arguments in, const CallKey& key);
std::optional<Results> avg_pool_backward(Arguments in, const CallKey& key);
std::optional<Results> batch_norm(Arguments in, const CallKey& key);
std::optional<Results> batch_norm_backward(Arguments in, const CallKey& key);

// A layer of an LSTM.
std::optional<Results> lstm_layer(Arguments in, const CallKey& key);
std::optional<Results> lstm_layer_backward(Arguments in, const CallKey& key);

/// ReLU, hardtanh, sigmoid and tanh with their gradients.
std::vector<Replacement> elementwise_operators();

}  // namespace fathom::ops::onednn
