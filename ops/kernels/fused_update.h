#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/kernels/update_rules.h"

namespace fathom::ops {

/// One optimizer step over all parameters, in place and in one pass over the memory. `lists` holds
/// the parameters, their gradients and the rule's states. A gradient and a state have the sizes and
/// strides of their parameter. All tensors must be dense, in any order of dimensions, and of one
/// type (float, double or bf16, which is computed in float), on the CPU or on CUDA with
/// libfathom_cuda.so. Throws c10::Error otherwise.
void fused_update(const UpdateRule& rule, const std::vector<std::vector<at::Tensor>>& lists);

}  // namespace fathom::ops
