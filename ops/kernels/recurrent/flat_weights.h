#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <vector>

#include "ops/core/autograd/autocast.h"

namespace fathom::ops {

/// Recurrent layers as cuDNN sees them.
struct CudnnRnn {
  int64_t mode;       ///< cuDNN's number of the cell
  int64_t per_layer;  ///< weights and biases of a layer in one direction
  int64_t layers;
  bool bidirectional;
};

/// Moves the weights of recurrent layers on a GPU into one buffer in cuDNN's layout, of which each
/// becomes a view. From other memory, LibTorch would copy them at every call. `weights` holds the
/// tensors of at::lstm and at::gru: per layer and direction [GH, I], [GH, H] for G gates and, with
/// biases, two biases [GH]. Does nothing on the CPU or if the weights share a buffer already.
void flatten_weights(const std::vector<at::Tensor>& weights, const CudnnRnn& rnn);

/// Calls run(x, states, weights) for cuDNN. On a GPU under autocast the tensors have autocast's
/// type: LibTorch would take fp16.
template <typename Run>
auto in_cudnn_type(const at::Tensor& x, const std::vector<at::Tensor>& states,
                   const std::vector<at::Tensor>& weights, const Run& run) {
  const auto type = x.is_cuda() ? autocast_type(at::kCUDA) : std::nullopt;
  if (!type) return run(x, states, weights);
  const auto rounded = [&](const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> made;
    for (const auto& tensor : tensors) made.push_back(tensor.to(*type));
    return made;
  };
  const std::vector<at::Tensor> rounded_states = rounded(states);
  const std::vector<at::Tensor> rounded_weights = rounded(weights);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCUDA);
  return run(x.to(*type), rounded_states, rounded_weights);
}

}  // namespace fathom::ops
