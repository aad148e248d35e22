#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/norm_constants.h"

namespace fathom::ops {

/// Whether libfathom_cuda.so is open and has a kernel for this tensor and window.
bool has_local_response_norm_cuda(const at::Tensor& x, const LocalResponseNormOptions& norm);

/// Local response normalization of a contiguous `x` [N, C, H, W], on LibTorch's current stream of
/// its device. Throws c10::Error with CUDA's message where the launch fails.
at::Tensor local_response_norm_cuda(const at::Tensor& x, const LocalResponseNormOptions& norm);

/// The gradient of `x` from `g`, the gradient of the output. Both are contiguous and of one type.
at::Tensor local_response_norm_backward_cuda(const at::Tensor& x, const at::Tensor& g,
                                             const LocalResponseNormOptions& norm);

}  // namespace fathom::ops
