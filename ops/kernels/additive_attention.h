#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// Additive attention of a query over a memory of T positions: Σ_t a_t memory_t, where a is the
/// softmax over t of score · tanh(keys_t + query). Bahdanau et al., "Neural machine translation by
/// jointly learning to align and translate", 2015, section 3.1. `memory` is [N, T, H], `keys` [N,
/// T, A], `query` [N, A], `score` [1, A]; the result is [N, H].
at::Tensor additive_attention(const at::Tensor& memory, const at::Tensor& keys,
                              const at::Tensor& query, const at::Tensor& score);

}  // namespace fathom::ops
