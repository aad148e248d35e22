#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// The tensors of one step of a GRU (gru.h), contiguous and of one type.
struct GruGates {
  at::Tensor gates;       ///< [N, 3H]: the products with x, which the gates r, z and n replace
  at::Tensor products;    ///< [N, 3H]: those with h
  at::Tensor h;           ///< [N, H]
  at::Tensor next;        ///< [N, H]: gets the next state
  at::Tensor recurrence;  ///< [N, H]: gets the products of n with h
};

/// Computes the gates and the next state. On the CPU in float, double or bf16 it reads and writes
/// the memory once; elsewhere it is a composition of LibTorch's ops. bf16 is computed in float.
void gru_gates(const GruGates& step);

/// The same for the gradients of a step.
struct GruGatesBackward {
  at::Tensor gates;       ///< [N, 3H], as gru_gates() left them
  at::Tensor recurrence;  ///< [N, H], likewise
  at::Tensor h;           ///< [N, H]
  at::Tensor g;           ///< [N, H]: the gradient of the next state, without that of later steps
  at::Tensor carried;     ///< [N, H]: that of later steps; gets that of h, without the products
  at::Tensor dgates;      ///< [N, 3H]: gets the gradient of the products with x
  at::Tensor dproducts;   ///< [N, 3H]: gets that of those with h
};

void gru_gates_backward(const GruGatesBackward& step);

}  // namespace fathom::ops
