#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/kernels/quantized/weight_codes.h"

namespace fathom::ops {

/// Outputs of a block of a packed weight: words of a register. 16 with AVX-512, for the forms of
/// llama.cpp with AVX-512 VNNI, and else 8.
int64_t packed_outputs(fixtures::Precision precision);

/// A weight [N, K] as the kernel below reads it: in the order of memory, without gaps. It consists
/// of blocks of B outputs. A block has B words of 32 bits for every 4 columns (of codes in 8 bits)
/// or 8 (of 4 bits). Byte b of word i has the codes, unsigned, of column b and, in its upper half,
/// of column 4 + b for output i. N' and K' are N and K up to whole blocks and words.
struct PackedWeight {
  fixtures::Precision precision;
  int64_t outputs;        ///< N
  at::Tensor words;       ///< int32 [N' / B, K' / 4 or K' / 8, B]
  at::Tensor scales;      ///< [N' / B, K / group, B]
  at::Tensor zeros = {};  ///< the same; undefined where the format has none
};

/// Packs the codes of a weight for the CPU, in blocks of packed_outputs() or of 8.
PackedWeight packed(const WeightCodes& weight);
PackedWeight packed(const WeightCodes& weight, int64_t outputs);

/// x [M, K] · Wᵀ (+ bias [N]) in fp32, with W of one of the formats of is_weight_only(). The forms
/// of llama.cpp first round x to 8 bits with a scale for each 32 (ggml's Q8_0), as that does.
at::Tensor packed_linear(const at::Tensor& x, const PackedWeight& weight,
                         const std::optional<at::Tensor>& bias);

inline constexpr std::string_view kPackedLinearName = "packed_linear";  ///< in labels

/// x [M, K] after rounding to Q8_0 and back, composed of LibTorch's ops: what packed_linear()
/// multiplies. Of any floating type; K is a multiple of 32.
at::Tensor rounded_to_q8_0(const at::Tensor& x);

}  // namespace fathom::ops
