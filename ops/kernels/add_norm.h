#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

struct SumAndNorm {
  at::Tensor sum;
  at::Tensor normalised;
};

/// The end of a layer with a shortcut and the normalization at the start of the next (Radford et
/// al. 2019, section 2.3): the sum of `x` and `update`, both [..., W], and the layer normalization
/// of its rows with `weight` and `bias` [W]. LibTorch's two calls.
SumAndNorm add_layer_norm(const at::Tensor& x, const at::Tensor& update, const at::Tensor& weight,
                          const at::Tensor& bias, double epsilon);

/// The same on the CPU in this project's kernel, with its own gradient, for float, double, fp16 or
/// bfloat16; 16 bits are computed in float. Elsewhere LibTorch's two calls.
SumAndNorm fused_add_layer_norm(const at::Tensor& x, const at::Tensor& update,
                                const at::Tensor& weight, const at::Tensor& bias, double epsilon);

/// The same with x / sqrt(mean(x²) + epsilon) · weight (Zhang and Sennrich 2019, section 4) as the
/// normalization. `update` may be undefined: the sum is `x` then. LibTorch's calls.
SumAndNorm rms_norm(const at::Tensor& x, const at::Tensor& update, const at::Tensor& weight,
                    double epsilon);

/// The same in this project's kernel, as fused_add_layer_norm().
SumAndNorm fused_rms_norm(const at::Tensor& x, const at::Tensor& update, const at::Tensor& weight,
                          double epsilon);

}  // namespace fathom::ops
