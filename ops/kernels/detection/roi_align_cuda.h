#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/detection/roi_align_rule.h"

namespace fathom::ops {

/// Whether libfathom_cuda.so is open and has a kernel for these features.
bool has_roi_align_cuda(const at::Tensor& features);

/// Aligns as roi_align_cpu() does, on LibTorch's current stream of the device; regions of images
/// that are not in `features` give 0. Throws c10::Error with CUDA's message where the launch fails.
at::Tensor roi_align_cuda(const at::Tensor& features, const at::Tensor& regions,
                          const RoiAlignOptions& align);

/// The gradient of the features. Adds atomically, so that the last bits may differ between runs.
at::Tensor roi_align_backward_cuda(const at::Tensor& g, const at::Tensor& regions,
                                   at::IntArrayRef sizes, const RoiAlignOptions& align);

}  // namespace fathom::ops
