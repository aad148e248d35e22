#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/rmsprop_rule.h"

namespace fathom::ops {

/// One update of all parameters in place, each in a single pass over its memory. The lists hold
/// tensors of the same sizes and floating type, contiguous; our own kernel for float and double on
/// the CPU and on CUDA, LibTorch's operations elsewhere. Throws c10::Error for others.
void rmsprop(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& gradients,
             const std::vector<at::Tensor>& mean_squares, const RmsProp& options);

/// The same by LibTorch's operations, each a pass over the memory.
void rmsprop_composite(const std::vector<at::Tensor>& parameters,
                       const std::vector<at::Tensor>& gradients,
                       const std::vector<at::Tensor>& mean_squares, const RmsProp& options);

}  // namespace fathom::ops
