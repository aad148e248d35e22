#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/detection/roi_align_rule.h"

namespace fathom::ops {

/// Aligns regions [R, 5] = {image, x1, y1, x2, y2} of `features` [N, C, H, W] in float, double or
/// bfloat16 to [R, C, height, width], as torchvision's roi_align does with aligned = false. Runs
/// this project's kernels, with their own gradient to the features, on the CPU and on CUDA where
/// libfathom_cuda.so is open; elsewhere LibTorch's composite. bfloat16 is summed in float. Throws
/// c10::Error where shapes do not fit or, on the CPU, where an image is not in `features`.
at::Tensor roi_align(const at::Tensor& features, const at::Tensor& regions,
                     const RoiAlignOptions& align);

/// The same from LibTorch's ops: samples by grid_sampler, then pools them. bfloat16 runs in float.
at::Tensor composed_roi_align(const at::Tensor& features, const at::Tensor& regions,
                              const RoiAlignOptions& align);

}  // namespace fathom::ops
