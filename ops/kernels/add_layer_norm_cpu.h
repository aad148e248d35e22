#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

// Rows are contiguous, in float, double or bfloat16. Weight, bias and statistics are in the type
// to compute in, which is float for bfloat16.

struct AddLayerNormResult {
  at::Tensor sum;         ///< of the shape of x
  at::Tensor normalised;  ///< of the shape of x
  at::Tensor statistics;  ///< of each row: the mean and 1 / sqrt(variance + epsilon), [rows, 2]
};

/// Adds `x` and `update` [..., W] and normalises the sum in one pass.
AddLayerNormResult add_layer_norm_cpu(const at::Tensor& x, const at::Tensor& update,
                                      const at::Tensor& weight, const at::Tensor& bias,
                                      double epsilon);

struct AddLayerNormGradients {
  at::Tensor x;  ///< also that of the update
  at::Tensor weight;
  at::Tensor bias;
};

/// The gradients from those of the results. `of_sum` may be undefined: it is 0 then.
AddLayerNormGradients add_layer_norm_backward_cpu(const at::Tensor& of_sum,
                                                  const at::Tensor& of_normalised,
                                                  const at::Tensor& sum,
                                                  const at::Tensor& statistics,
                                                  const at::Tensor& weight);

}  // namespace fathom::ops
