#pragma once

#include "ops/kernels/lstm_cell.h"

namespace fathom::ops {

/// What lstm_cell makes of its products [N, 4H] and the cell's c [N, H], in one pass over the
/// memory each way instead of one an operation; backward computes the gates again rather than keep
/// them. Float, double or bf16, which is computed in float, of one type; contiguous, on the CPU or
/// on CUDA with our library. Throws c10::Error for others.
LstmState lstm_gates(const at::Tensor& products, const at::Tensor& c);

}  // namespace fathom::ops
