#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// The positions of the boxes that are kept of contiguous `boxes` [M, 4] in float or double, which
/// are sorted by falling score. The result does not depend on the number of threads.
at::Tensor nms_cpu(const at::Tensor& boxes, double max_overlap);

}  // namespace fathom::ops
