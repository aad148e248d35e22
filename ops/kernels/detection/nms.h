#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// Non-maximum suppression: visits boxes [M, 4] = {x1, y1, x2, y2} by falling score, the first of
/// equal scores [M] first, and keeps those whose intersection with every kept box is at most
/// `max_overlap` of their union. Returns the numbers of the kept boxes, int64, in that order.
/// Boxes are compared in double where they are double, otherwise in float. There is no gradient.
/// Runs this project's kernels on the CPU and on CUDA where libfathom_cuda.so is open; elsewhere
/// LibTorch's composite. A call on a GPU waits for it. Throws c10::Error where shapes do not fit.
at::Tensor nms(const at::Tensor& boxes, const at::Tensor& scores, double max_overlap);

/// The same from LibTorch's ops: one pass over the later boxes for each kept box.
at::Tensor composed_nms(const at::Tensor& boxes, const at::Tensor& scores, double max_overlap);

}  // namespace fathom::ops
