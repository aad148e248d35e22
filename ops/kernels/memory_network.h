#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

// Parts of a memory network: Sukhbaatar et al., "End-To-End Memory Networks", 2015. Composites of
// LibTorch's ops; with fused_composites() one kernel each, with its own gradient, for float on the
// CPU.

/// The sentences' representations Σ_j weights_j * table[words_j], section 4.1: `table` [V, D],
/// `words` [..., J] of int64, `weights` [J, D], which has no gradient; the result is [..., D].
at::Tensor encoded_words(const at::Tensor& table, const at::Tensor& words,
                         const at::Tensor& weights);

/// What a query reads from a memory: Σ_m p_m memory_m, where p is the softmax over m of query ·
/// memory_m, section 2.1 with one memory for input and output. `query` [N, D], `memory` [N, M, D],
/// `keys` is memory.transpose(1, 2); the result is [N, D].
at::Tensor memory_read(const at::Tensor& query, const at::Tensor& memory, const at::Tensor& keys);

}  // namespace fathom::ops
