#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace fathom::ops {

/// Scales gradients in place so that their common norm is at most `max_norm`, like
/// torch::nn::utils::clip_grad_norm_. One pass over the memory computes the norm, another scales.
/// The tensors must be dense, in any order of dimensions, and of one type (float, double or bf16,
/// which is computed in float), on the CPU or on CUDA with libfathom_cuda.so. Throws c10::Error
/// otherwise.
void fused_clip(const std::vector<at::Tensor>& gradients, double max_norm);

}  // namespace fathom::ops
