#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/rmsprop_rule.h"

namespace fathom::ops {

/// One update of all parameters in place, each in a single pass over its memory. The lists hold
/// tensors of the same sizes, contiguous and float (or double); our own kernel on the CPU and
/// on CUDA, LibTorch's operations elsewhere. Throws c10::Error for others.
void rmsprop(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& gradients,
             const std::vector<at::Tensor>& mean_squares, const RmsProp& options);

}  // namespace fathom::ops
