#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace fathom::ops {

/// Attention of one query, the token that a language model decodes, to the keys of a cache:
/// softmax(q · kᵀ · scale + mask) · v of each head, with q [N, H, 1, D] and k and v [N, G, S, D],
/// which gives [N, H, 1, D]. H / G heads share keys and values. The scale is 1 / sqrt(D) unless
/// given. Reading keys and values is most of the work; this project's kernel reads each once,
/// wherever rows of D lie in memory, and not those before the first and after the last that a mask
/// [N or 1, 1, 1, S] shows: bools, or values of q's type where -infinity hides a key. It runs on
/// the CPU for float, double, fp16 or bfloat16; 16 bits are summed in float. Elsewhere, for several
/// queries and for other masks, LibTorch's. Has no gradient.
at::Tensor decode_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            std::optional<double> scale = {},
                            const std::optional<at::Tensor>& mask = {});

/// A mask for sequences that end where a cache of `keys` ends: bools [N, 1, 1, keys], true in the
/// last lengths[n] places of sequence n.
at::Tensor mask_of_lengths(const std::vector<int64_t>& lengths, int64_t keys);
/// The lengths of such a mask, of bools or of -infinity and other values; none where it hides no
/// key, hides a whole sequence or is no such mask.
std::vector<int64_t> lengths_of_mask(const at::Tensor& mask);

}  // namespace fathom::ops
