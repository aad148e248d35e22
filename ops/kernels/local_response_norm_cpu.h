#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/norm_constants.h"

namespace fathom::ops {

/// Local response normalization of `x` [N, C, H, W] in float, double or bfloat16 on the CPU, either
/// contiguous or with the channels last. The result has the layout of `x`.
at::Tensor local_response_norm_cpu(const at::Tensor& x, const LocalResponseNormOptions& norm);

/// The gradient of `x` from `g`, the gradient of the output. Both are of one type and layout.
at::Tensor local_response_norm_backward_cpu(const at::Tensor& x, const at::Tensor& g,
                                            const LocalResponseNormOptions& norm);

}  // namespace fathom::ops
