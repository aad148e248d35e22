#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// The state of a cell. Both tensors are [N, H].
struct LstmState {
  at::Tensor h;  ///< the hidden state, which is the output
  at::Tensor c;  ///< the cell state
};

/// One step of an LSTM, Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al. 2000:
/// c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c') with [i, f, g, o] = [x, h] · weightᵀ + bias.
/// `x` is [N, I], `weight` [4H, I + H] and `bias` [4H].
LstmState lstm_cell(const at::Tensor& x, const LstmState& state, const at::Tensor& weight,
                    const at::Tensor& bias);

}  // namespace fathom::ops
