#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/norm_constants.h"

namespace fathom::ops {

/// Our own kernels with their gradient on the CPU and, for windows of 3, 5, 7 or 9, on CUDA, where
/// LibTorch composes a padded 3-d pooling and a power; that composite elsewhere. `x` is
/// [N, C, H, W] in float, double or bfloat16, of which the latter is summed in float. Throws
/// c10::Error for an even size.
at::Tensor local_response_norm(const at::Tensor& x, const LocalResponseNorm& norm);

/// LibTorch's composite: a padded 3-d pooling and a power. Its pooling on the CPU takes no bf16,
/// for which the composite runs in fp32.
at::Tensor composed_local_response_norm(const at::Tensor& x, const LocalResponseNorm& norm);

}  // namespace fathom::ops
