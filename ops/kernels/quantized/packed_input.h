#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/kernels/quantized/packed_linear.h"

namespace fathom::ops {

inline constexpr int64_t kTileRows = 8;           ///< of x, for which a code is converted once
inline constexpr int64_t kQ8Group = 32;           ///< columns of a scale of ggml's Q8_0
inline constexpr int64_t kPackedGrain = 1 << 15;  ///< minimum elements of W or x per thread

/// x [M, K] as packed_linear() reads it: tiles of kTileRows rows and one with the rest. K' is K up
/// to whole words of the weight.
struct PackedInput {
  at::Tensor x;       ///< [K', rows of the tile], each column divided by 2^(bits · field) of the
                      ///< codes that it meets; or int32 [K' / 4, rows of the tile], four codes each
  at::Tensor sums;    ///< of each group of x: [groups, rows of the tile]; of codes in int32, times
                      ///< -offset()
  at::Tensor scales;  ///< of codes: [groups, rows of the tile]
};

/// Packs x for a product with the weight, rounded to Q8_0 where the weight has a form of llama.cpp.
/// `codes`: as whole numbers with their scales.
PackedInput packed_input(const at::Tensor& x, const PackedWeight& weight, bool codes);

}  // namespace fathom::ops
