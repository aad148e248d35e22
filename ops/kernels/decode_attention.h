#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// Attention of one query, the token that a language model decodes, to the keys of a cache:
/// softmax(q · kᵀ / sqrt(D)) · v of each head, with q [N, H, 1, D] and k and v [N, H, S, D], which
/// gives [N, H, 1, D]. Reading keys and values is most of the work; this project's kernel reads
/// each once, wherever rows of D lie in memory. It runs on the CPU for float, double or bfloat16,
/// which is summed in float. Elsewhere, and for several queries, LibTorch's. Has no gradient.
at::Tensor decode_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

}  // namespace fathom::ops
