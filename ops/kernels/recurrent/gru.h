#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/recurrent/direction.h"

namespace fathom::ops {

/// The weights of a GRU with H units, with the gates in the order r, z, n: those of at::gru.
struct GruWeights {
  at::Tensor input;           ///< [3H, I]
  at::Tensor recurrent;       ///< [3H, H]
  at::Tensor input_bias;      ///< [3H]
  at::Tensor recurrent_bias;  ///< [3H]
};

/// The hidden states [T, N, H] of a gated recurrent unit (Cho et al. 2014) as LibTorch and cuDNN
/// define it. With the products a = input · x_t + input_bias and b = recurrent · h +
/// recurrent_bias, r = σ(a_r + b_r), z = σ(a_z + b_z), n = tanh(a_n + r b_n) and h_t = (1 - z) n +
/// z h, where h is the state of the previous frame in `direction`. `x` is [T, N, I]; `h` [N, H] is
/// the state before the first frame. The recurrence runs frame by frame. The products with x and
/// all gradients of weights are one product over all frames; LibTorch's loop on the CPU adds up a
/// product a frame. Under autocast all runs in its type.
at::Tensor gru(const at::Tensor& x, const at::Tensor& h, const GruWeights& weights,
               Direction direction);

/// The next state [N, H] of one step of the same, from x [N, I] and h [N, H].
at::Tensor gru_cell(const at::Tensor& x, const at::Tensor& h, const GruWeights& weights);

}  // namespace fathom::ops
