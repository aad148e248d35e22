#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/norm_constants.h"

namespace fathom::ops {

/// Local response normalization of `x` [N, C, H, W] in float, double or bfloat16, which is summed
/// in float. Runs this project's kernels, with their own gradient, on the CPU and, for windows of
/// 3, 5, 7 or 9, on CUDA; elsewhere it runs LibTorch's composite. Throws c10::Error for an even
/// size.
at::Tensor local_response_norm(const at::Tensor& x, const LocalResponseNormOptions& norm);

/// LibTorch's composite of a padded 3-d pooling and a power. LibTorch's pooling on the CPU does not
/// support 16-bit types, so those run in fp32 there.
at::Tensor composed_local_response_norm(const at::Tensor& x, const LocalResponseNormOptions& norm);

}  // namespace fathom::ops
