#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace fathom::ops {

/// The arguments of fused_additive_attention(), contiguous and of one type: float, double or bf16,
/// which is computed in float.
struct AttentionInputs {
  at::Tensor memory;               ///< [N, T, H]
  at::Tensor keys;                 ///< [N, T, A]
  at::Tensor query;                ///< [N, A]
  at::Tensor score;                ///< [1, A]
  std::optional<at::Tensor> mask;  ///< [N, T]
};

struct AttentionResult {
  at::Tensor context;  ///< [N, H]
  at::Tensor shares;   ///< of the places, [N, T], in float or double
};

/// Additive attention on the CPU in one pass over keys and memory. Skips masked places.
AttentionResult additive_attention_cpu(const AttentionInputs& in);

struct AttentionGradients {
  at::Tensor memory;
  at::Tensor keys;
  at::Tensor query;
  at::Tensor score;
};

/// The gradients from `g` [N, H], contiguous, that of the context. Computes tanh again instead of
/// reading it.
AttentionGradients additive_attention_backward_cpu(const at::Tensor& g, const AttentionInputs& in,
                                                   const at::Tensor& shares);

}  // namespace fathom::ops
