#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/detection/roi_align_rule.h"

namespace fathom::ops {

/// Aligns `regions` [R, 5] of contiguous `features` [N, C, H, W] on the CPU. `regions` are double
/// for double features, otherwise float. The result does not depend on the number of threads.
at::Tensor roi_align_cpu(const at::Tensor& features, const at::Tensor& regions,
                         const RoiAlignOptions& align);

/// The gradient of features of shape `sizes` from the contiguous `g` [R, C, height, width].
at::Tensor roi_align_backward_cpu(const at::Tensor& g, const at::Tensor& regions,
                                  at::IntArrayRef sizes, const RoiAlignOptions& align);

}  // namespace fathom::ops
