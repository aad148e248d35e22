#pragma once

#include "ops/kernels/recurrent/lstm_cell.h"

namespace fathom::ops {

/// Fused gate activations of lstm_cell: the pre-activations [N, 4H] and the cell state c [N, H]
/// give the next state. Each pass reads and writes the memory once; backward computes the gates
/// again instead of saving them. The tensors must be contiguous and of one type (float, double or
/// bf16, which is computed in float), on the CPU or on CUDA with libfathom_cuda.so. Throws
/// c10::Error otherwise.
LstmState lstm_gates(const at::Tensor& preactivations, const at::Tensor& c);

/// The same without autograd, into the tensors of `next`, for loops over many cells.
void lstm_gates_out(const LstmState& next, const at::Tensor& preactivations, const at::Tensor& c);

/// Gradients of lstm_gates() from those of the next state, `next`, into `dpreactivations` and `dc`.
/// All tensors are as for lstm_gates().
void lstm_gates_backward_out(const at::Tensor& dpreactivations, const at::Tensor& dc,
                             const at::Tensor& preactivations, const at::Tensor& c,
                             const LstmState& next);

}  // namespace fathom::ops
