#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/norm_constants.h"

namespace fathom::ops {

/// y of a contiguous `x` [N, C, H, W] in float, double or bfloat16 on the CPU.
at::Tensor local_response_norm_cpu(const at::Tensor& x, const LocalResponseNorm& norm);

/// The gradient to `x` from `g`, the one to y; both contiguous and of one type.
at::Tensor local_response_norm_backward_cpu(const at::Tensor& x, const at::Tensor& g,
                                            const LocalResponseNorm& norm);

}  // namespace fathom::ops
