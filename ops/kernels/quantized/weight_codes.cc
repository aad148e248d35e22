#include "ops/kernels/quantized/weight_codes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/where.h>

#include "ops/kernels/quantized/activations.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;

/// Numbers as the constants' type rounds them.
at::Tensor rounded(const at::Tensor& constants, const WeightFormat& format) {
  return constants.to(format.constants).to(at::kFloat);
}

/// 1 / x, and 0 for 0: a group of zeros has the codes 0.
at::Tensor reciprocal_or_0(const at::Tensor& x) { return at::where(x == 0, 0, x.reciprocal()); }

}  // namespace

WeightFormat weight_format(Precision precision) {
  switch (precision) {
    case Precision::kFp8:
      return {.group = 0, .bits = 8, .constants = at::kFloat, .zeros = false, .one_scale = true};
    case Precision::kInt8w:
      return {.group = 0, .bits = 8, .constants = at::kBFloat16, .zeros = false};
    case Precision::kInt4w:
      return {.group = 32, .bits = 4, .constants = at::kBFloat16, .zeros = true};
    case Precision::kQ8_0:
      return {.group = 32, .bits = 8, .constants = at::kHalf, .zeros = false};
    case Precision::kQ4_0:
      return {.group = 32, .bits = 4, .constants = at::kHalf, .zeros = false};
    default:
      return {.group = 0, .bits = 8, .constants = at::kFloat, .zeros = false};
  }
}

bool has_format(Precision precision, int64_t columns) {
  const int64_t group = weight_format(precision).group;
  return group == 0 || columns % group == 0;
}

WeightCodes quantized(const at::Tensor& weight, Precision precision, int bits) {
  const WeightFormat format = weight_format(precision);
  if (format.one_scale) {
    const at::Tensor scale = weight.abs().amax().view({1, 1}) / kMostFp8;
    return {.precision = precision, .codes = fp8(weight * reciprocal_or_0(scale)), .scales = scale};
  }
  const int64_t group = format.group == 0 ? weight.size(1) : format.group;
  const at::Tensor groups = weight.reshape({weight.size(0), -1, group});
  const at::Tensor least = groups.amin(-1, /*keepdim=*/true);
  const at::Tensor most = groups.amax(-1, /*keepdim=*/true);
  at::Tensor scales;
  at::Tensor zeros;
  at::Tensor codes;
  if (precision == Precision::kInt4w) {
    scales = rounded((most - least) / 15, format);
    zeros = rounded(least + 8 * scales, format);
    codes = ((groups - zeros) * reciprocal_or_0(scales)).round().clamp(-8, 7);
  } else if (precision == Precision::kQ4_0) {
    const at::Tensor exact = at::where(most > -least, most, least) / -8;
    scales = rounded(exact, format);
    codes = (groups * reciprocal_or_0(exact) + 8.5).clamp_max(15).trunc() - 8;
  } else {
    const double limit = bits == 7 ? 63 : 127;
    const at::Tensor exact = groups.abs().amax(-1, /*keepdim=*/true) / limit;
    scales = rounded(exact, format);
    // ggml's codes are those of the scale before it is rounded, and halves round away from zero.
    const at::Tensor scaled =
        groups * reciprocal_or_0(precision == Precision::kQ8_0 ? exact : scales);
    const bool away = precision == Precision::kQ8_0;
    codes =
        (away ? (scaled.abs() + 0.5).floor() * scaled.sign() : scaled.round()).clamp(-limit, limit);
  }
  return {.precision = precision,
          .codes = codes.to(at::kChar).view_as(weight),
          .scales = scales.squeeze(-1),
          .zeros = format.zeros ? zeros.squeeze(-1) : at::Tensor()};
}

at::Tensor WeightCodes::dequantized() const {
  const at::Tensor groups =
      codes.view({codes.size(0), scales.size(1), -1}).to(scales.scalar_type());
  const at::Tensor scaled = groups * scales.unsqueeze(-1);
  return (zeros.defined() ? scaled + zeros.unsqueeze(-1) : scaled).view_as(codes);
}

double packed_bytes(Precision precision, double n, double k) {
  const WeightFormat format = weight_format(precision);
  const auto constant = static_cast<double>(c10::elementSize(format.constants));
  return n * k * format.bits / 8 + constant * format.constants_of(n, k);
}

}  // namespace fathom::ops
