#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/kernels/quantized/weight_codes.h"

namespace fathom::ops {

/// Most rows that a kernel of ours reads with a packed weight. More are multiplied as by
/// at::linear(), after the weight has been dequantised.
inline constexpr int64_t kMaxPackedRows = 8;

/// A weight [N, K] as the kernel below reads it: in the order of memory, without gaps. Sixteen
/// 32-bit words hold the codes of 64 columns in bytes, or of 128 in four bits each: those of column
/// 16 j + i are field j of word i, and unsigned.
struct PackedWeight {
  fixtures::Precision precision;
  int64_t outputs;        ///< N
  int64_t inputs;         ///< K
  at::Tensor words;       ///< int32 [N, K' / 4] or [N, K' / 8], with K' whole words
  at::Tensor scales;      ///< [N, K / group] in the format's type
  at::Tensor zeros = {};  ///< the same; undefined where the format has none
};

/// Packs the codes of a weight for the CPU.
PackedWeight packed(const WeightCodes& weight);

/// x [M, K] · Wᵀ (+ bias [N]) in fp32, with W of one of the formats of is_weight_only(). The forms
/// of llama.cpp first round x to 8 bits with a scale for each 32 (ggml's Q8_0), as that does.
at::Tensor packed_linear(const at::Tensor& x, const PackedWeight& weight,
                         const std::optional<at::Tensor>& bias);

/// The name of its kernel for labels.
constexpr std::string_view packed_linear_name(int64_t rows) {
  return rows <= kMaxPackedRows ? "packed_linear" : "dequantised weights";
}

/// x [M, K] after rounding to Q8_0 and back; of any floating type, K a multiple of 32.
at::Tensor rounded_to_q8_0(const at::Tensor& x);

}  // namespace fathom::ops
