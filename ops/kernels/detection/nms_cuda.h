#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// Whether libfathom_cuda.so is open and `boxes` are on a GPU.
bool has_nms_cuda(const at::Tensor& boxes);

/// The positions of the boxes that are kept, as nms_cpu() gives them. Waits for the GPU. Throws
/// c10::Error with CUDA's message where a launch fails.
at::Tensor nms_cuda(const at::Tensor& boxes, double max_overlap);

}  // namespace fathom::ops
