#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

struct LstmSequence {
  at::Tensor h;       ///< all hidden states, [T, N, H]
  at::Tensor last_c;  ///< the last cell state, [N, H]
};

/// The recurrence of a layer of LSTM cells (lstm_cell.h) over sequences that end at the last of T
/// positions: sequence n has lengths[n] of them, and the state is 0 before the first. `x` [T, N,
/// 4H] holds the products with the input and the biases, `recurrent` is [4H, H], `lengths` [N]
/// (int64, on the device of x). Positions before a sequence add to no gradient. Runs the fused
/// gates of lstm_gates.h; the gradient of `recurrent` is one product over all positions. On a GPU
/// without libfathom_cuda.so it runs LibTorch's composite. Under autocast it runs in its type.
LstmSequence lstm_recurrence(const at::Tensor& x, const at::Tensor& recurrent,
                             const at::Tensor& lengths);

/// LibTorch's composite: a product and the ops of a cell for each position.
LstmSequence composed_lstm_recurrence(const at::Tensor& x, const at::Tensor& recurrent,
                                      const at::Tensor& lengths);

}  // namespace fathom::ops
