#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/kernels/update_rules.h"

namespace fathom::ops {

/// One step of an optimizer over all parameters in place, in a single pass over the memory: `lists`
/// are the parameters, their gradients and the rule's states. Tensors of the same sizes and type
/// (float, double or bf16, which is computed in float), contiguous, on the CPU or on CUDA with our
/// library. Throws c10::Error for others.
void fused_update(const UpdateRule& rule, const std::vector<std::vector<at::Tensor>>& lists);

}  // namespace fathom::ops
