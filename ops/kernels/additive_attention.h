#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace fathom::ops {

/// Additive attention of a query over a memory of T positions: Σ_t a_t memory_t, where a is the
/// softmax over t of score · tanh(keys_t + query). Bahdanau et al., "Neural machine translation by
/// jointly learning to align and translate", 2015, section 3.1. `memory` is [N, T, H], `keys` [N,
/// T, A], `query` [N, A], `score` [1, A]; the result is [N, H]. `mask` [N, T], of floating type, is
/// added to the scores: 0 where the memory has a word, -infinity at padding. Each memory has a
/// word. A composite of LibTorch's ops.
at::Tensor additive_attention(const at::Tensor& memory, const at::Tensor& keys,
                              const at::Tensor& query, const at::Tensor& score,
                              const std::optional<at::Tensor>& mask = {});

/// The same in this project's kernel, with its own gradient, on the CPU in float, double and bf16:
/// one pass over keys and memory, without padding, that keeps only the softmax. Elsewhere it is
/// the composite. Under autocast it runs in autocast's type.
at::Tensor fused_additive_attention(const at::Tensor& memory, const at::Tensor& keys,
                                    const at::Tensor& query, const at::Tensor& score,
                                    const std::optional<at::Tensor>& mask = {});

}  // namespace fathom::ops
