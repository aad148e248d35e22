#pragma once

#include "ops/core/buffer.h"
#include "ops/core/op.h"

namespace fathom::ops {

/// The problem of {x [T, N, I], h [N, H], weights, biases}, which give {y [T, N, H]}, or of their
/// gradients: then `in` ends with that of y. A cell has no dimension T.
inline Problem gru_problem(const Tensors& in, const Tensors& out, bool backward) {
  const auto layer = [](const at::Tensor& tensor) {
    return buffer(tensor.dim() == 2 ? tensor.unsqueeze(0) : tensor);
  };
  const auto inputs = [&](const Tensors& tensors) -> GruProblem::Inputs {
    return {.x = layer(tensors[0]),
            .h = buffer(tensors[1]),
            .input_weight = buffer(tensors[2]),
            .recurrent_weight = buffer(tensors[3]),
            .input_bias = buffer(tensors[4]),
            .recurrent_bias = buffer(tensors[5])};
  };
  GruProblem problem{.inputs = inputs(in), .y = layer(backward ? in[6] : out[0])};
  if (backward) problem.gradients = inputs(out);
  return problem;
}

}  // namespace fathom::ops
