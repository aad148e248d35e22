#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

// Rows are contiguous, in float, double, fp16 or bfloat16. Weight, bias and statistics are in the
// type to compute in, which is float for 16 bits.

/// What the rows are divided by, after their mean is subtracted in kLayer.
enum class Norm {
  kLayer,  ///< sqrt(variance + epsilon); then a bias is added
  kRms,    ///< sqrt(mean of squares + epsilon)
};

struct AddNormResult {
  at::Tensor sum;         ///< of the shape of x; x itself without an update
  at::Tensor normalised;  ///< of the shape of x
  at::Tensor statistics;  ///< of each row: the mean, 0 in kRms, and the scale, [rows, 2]
};

/// Adds `x` and `update` [..., W], which may be undefined, and normalises the sum in one pass.
/// `bias` is undefined in kRms.
AddNormResult add_norm_cpu(Norm norm, const at::Tensor& x, const at::Tensor& update,
                           const at::Tensor& weight, const at::Tensor& bias, double epsilon);

struct AddNormGradients {
  at::Tensor x;  ///< also that of the update
  at::Tensor weight = {};
  at::Tensor bias = {};  ///< undefined in kRms
};

/// The gradients from those of the results. `of_sum` may be undefined: it is 0 then.
AddNormGradients add_norm_backward_cpu(Norm norm, const at::Tensor& of_sum,
                                       const at::Tensor& of_normalised, const at::Tensor& sum,
                                       const at::Tensor& statistics, const at::Tensor& weight);

}  // namespace fathom::ops
