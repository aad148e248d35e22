#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/norm_constants.h"

namespace fathom::ops {

/// Local response normalization of a contiguous `x` [N, C, H, W] in float, double or bfloat16 on
/// the CPU.
at::Tensor local_response_norm_cpu(const at::Tensor& x, const LocalResponseNormOptions& norm);

/// The gradient of `x` from `g`, the gradient of the output. Both are contiguous and of one type.
at::Tensor local_response_norm_backward_cpu(const at::Tensor& x, const at::Tensor& g,
                                            const LocalResponseNormOptions& norm);

}  // namespace fathom::ops
