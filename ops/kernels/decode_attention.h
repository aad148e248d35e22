#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace fathom::ops {

/// Attention of one query, the token that a language model decodes, to the keys of a cache:
/// softmax(q · kᵀ · scale) · v of each head, with q [N, H, 1, D] and k and v [N, G, S, D], which
/// gives [N, H, 1, D]. H / G heads share keys and values. The scale is 1 / sqrt(D) unless given.
/// Reading keys and values is most of the work; this project's kernel reads each once, wherever
/// rows of D lie in memory. It runs on the CPU for float, double, fp16 or bfloat16; 16 bits are
/// summed in float. Elsewhere, and for several queries, LibTorch's. Has no gradient.
at::Tensor decode_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            std::optional<double> scale = {});

}  // namespace fathom::ops
