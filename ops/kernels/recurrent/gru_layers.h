#pragma once

#include "ops/kernels/recurrent/gru.h"

namespace fathom::ops {

/// The states [T, N, H] of LibTorch's GRU over x [T, N, I] from the state h [N, H]: a composition
/// of its ops on the CPU, cuDNN's on a GPU, where this flattens the weights. `train` as in at::gru.
at::Tensor torch_gru(const at::Tensor& x, const at::Tensor& h, const GruWeights& weights,
                     bool train);

/// Moves the weights on a GPU into cuDNN's layout (flatten_weights).
void flatten_gru_weights(const GruWeights& weights);

/// The sum [T, N, H] of a GRU's states in both directions over x [T, N, I], from states of zeros:
/// gru() on the CPU, cuDNN's bidirectional layer on a GPU. The weights have the same sizes.
at::Tensor bidirectional_gru(const at::Tensor& x, const GruWeights& ahead, const GruWeights& back);

}  // namespace fathom::ops
