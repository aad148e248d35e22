#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "fixtures/machine/precision.h"

namespace fathom::ops {

/// How a precision stores a weight [N, K]: as codes of few bits with a scale for each group of
/// columns of a row, and perhaps a zero. A weight is code · scale + zero.
struct WeightFormat {
  int64_t group;             ///< columns; 0: all K
  int bits;                  ///< of a code
  at::ScalarType constants;  ///< type of scales and zeros
  bool zeros;
  bool one_scale = false;  ///< of the whole weight

  /// The number of scales and zeros of a weight [n, k].
  double constants_of(double n, double k) const {
    const double of_rows = group == 0 ? n : n * k / static_cast<double>(group);
    return (one_scale ? 1 : of_rows) * (zeros ? 2 : 1);
  }
};

/// The format of a quantised precision. kInt8, kInt8w: a scale for each row, max |w| / 127, as
/// torchao's. kFp8: one scale, max |w| / 448, the largest number of e4m3. kInt4w: 16 steps between
/// the least and the largest weight of 32, as torchao's and gpt-fast's. kQ8_0, kQ4_0: blocks of 32,
/// as in llama.cpp's ggml-quants.c.
WeightFormat weight_format(fixtures::Precision precision);

/// A weight in such a format, in tensors that are easy to read: kernels pack it.
struct WeightCodes {
  fixtures::Precision precision;
  at::Tensor codes;       ///< int8, in kFp8 float8_e4m3fn [N, K]
  at::Tensor scales;      ///< [N, K / group], each a number that the format's type represents; of
                          ///< kFp8 [1, 1]
  at::Tensor zeros = {};  ///< the same; undefined where the format has none

  /// The weight [N, K], in the type of the scales.
  at::Tensor dequantized() const;
};

/// Whether a precision has a format for rows of `columns` weights: whole groups.
bool has_format(fixtures::Precision precision, int64_t columns);

/// The codes of a weight [N, K] in fp32. `bits`: 7 for kernels whose sums of 8-bit codes saturate.
WeightCodes quantized(const at::Tensor& weight, fixtures::Precision precision, int bits = 8);

/// Bytes of a packed weight [n, k] with its scales and zeros.
double packed_bytes(fixtures::Precision precision, double n, double k);

}  // namespace fathom::ops
