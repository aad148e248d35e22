#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// What a query reads from a memory of T places: Σ_t a_t memory_t with a = softmax over t of
/// score · tanh(keys_t + query). Bahdanau et al., "Neural machine translation by jointly learning
/// to align and translate", 2015, section 3.1. `memory` is [N, T, H], `keys` [N, T, A], `query`
/// [N, A], `score` [1, A] and the result [N, H].
at::Tensor additive_attention(const at::Tensor& memory, const at::Tensor& keys,
                              const at::Tensor& query, const at::Tensor& score);

}  // namespace fathom::ops
