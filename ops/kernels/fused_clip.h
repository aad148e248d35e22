#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace fathom::ops {

/// Scales gradients in place so that the norm over all of them is `largest` at most, as
/// torch::nn::utils::clip_grad_norm_ does: one pass over the memory for the norm and one for the
/// scaling. Tensors of one type (float, double or bf16, which is computed in float), contiguous, on
/// the CPU or on CUDA with our library. Throws c10::Error for others.
void fused_clip(const std::vector<at::Tensor>& gradients, double largest);

}  // namespace fathom::ops
