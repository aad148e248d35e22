#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/kernels/quantized/packed_linear.h"

namespace fathom::ops {

inline constexpr int64_t kTileRows = 8;           ///< of a tile of x
inline constexpr int64_t kQ8Group = 32;           ///< columns of a scale of ggml's Q8_0
inline constexpr int64_t kPackedGrain = 1 << 15;  ///< minimum elements of W or x per thread

/// x [M, K] as packed_linear() reads it: tiles of kTileRows rows and one with the rest. K' is K up
/// to whole words of the weight.
struct PackedInput {
  /// [K', rows of the tile]. Format::field() leaves the codes of field j times 2^(bits · j), so x
  /// is divided by that. As codes: int32 [K' / 4, rows of the tile], four codes in each.
  at::Tensor x;
  at::Tensor sums;    ///< of x in each group: [groups, rows of the tile]. As codes: int32, times
                      ///< -offset().
  at::Tensor scales;  ///< of codes: [groups, rows of the tile]
};

/// Packs x for a product with the weight. A weight in a form of llama.cpp has x rounded to Q8_0.
/// `codes`: x as whole numbers with scales.
PackedInput packed_input(const at::Tensor& x, const PackedWeight& weight, bool codes);

}  // namespace fathom::ops
