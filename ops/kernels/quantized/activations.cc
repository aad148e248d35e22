#include "ops/kernels/quantized/activations.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/quantize_per_tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>

#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 14;  // minimum elements per thread
constexpr double kMostCode = 255;
constexpr float kMostTokenCode = 127;

/// Adding and subtracting it rounds a float below 2^22 to the nearest whole number, ties to even.
constexpr float kRounding = 0x1.8p23F;

FATHOM_VECTOR_CLONES void quantize_some(const float* x, uint8_t* codes, int64_t count,
                                        float inverse, float zero) {
  FATHOM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const float scaled = std::clamp(x[i] * inverse, -zero, 255.0F - zero);
    codes[i] = static_cast<uint8_t>(static_cast<int32_t>((scaled + kRounding) - kRounding + zero));
  }
}

FATHOM_VECTOR_CLONES float most(const float* x, int64_t count) {
  float most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(x[i]));
  return most;
}

FATHOM_VECTOR_CLONES void quantize_token(const float* x, int8_t* codes, int64_t count,
                                         float inverse) {
  FATHOM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const float code = x[i] * inverse;
    codes[i] = static_cast<int8_t>(static_cast<int32_t>((code + kRounding) - kRounding));
  }
}

FATHOM_VECTOR_CLONES void dequantize_token(const int32_t* sums, float* y, int64_t count,
                                           float x_scale, const float* scales, const float* bias) {
  if (bias == nullptr) {
    FATHOM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(sums[i]) * (x_scale * scales[i]);
  } else {
    FATHOM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i)
      y[i] = static_cast<float>(sums[i]) * (x_scale * scales[i]) + bias[i];
  }
}

}  // namespace

ActivationCodes ActivationCodes::of_range(double least, double most) {
  const double from = std::min(least, 0.0);
  const double to = std::max(most, 0.0);
  if (from == to) return {.scale = 1, .zero = 0};
  const double scale = (to - from) / kMostCode;
  return {.scale = scale, .zero = std::llround(-from / scale)};
}

ActivationCodes ActivationCodes::fp8_of_range(double least, double most) {
  const double largest = std::max(-least, most);
  return {.scale = largest == 0 ? 1 : largest / kMostFp8, .zero = 0};
}

at::Tensor fp8(const at::Tensor& x) { return x.clamp(-kMostFp8, kMostFp8).to(at::kFloat8_e4m3fn); }

at::Tensor torch_quantize(const at::Tensor& x, const ActivationCodes& how) {
  return at::quantize_per_tensor(x, how.scale, how.zero, at::kQUInt8).int_repr();
}

at::Tensor quantize(const at::Tensor& x, const ActivationCodes& how) {
  if (!x.is_non_overlapping_and_dense()) return quantize(x.contiguous(), how);
  at::Tensor codes = at::empty_like(x, at::kByte);
  const auto* from = x.const_data_ptr<float>();
  auto* to = codes.mutable_data_ptr<uint8_t>();
  at::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    quantize_some(from + begin, to + begin, end - begin, static_cast<float>(1 / how.scale),
                  static_cast<float>(how.zero));
  });
  return codes;
}

TokenCodes torch_quantize_tokens(const at::Tensor& x) {
  const at::Tensor scales = x.abs().amax(-1, /*keepdim=*/true) / kMostTokenCode;
  const at::Tensor inverse = at::where(scales == 0, 0, scales.reciprocal());
  return {.codes = (x * inverse).round().to(at::kChar), .scales = scales.squeeze(-1)};
}

TokenCodes quantize_tokens(const at::Tensor& x) {
  const at::Tensor rows = x.contiguous();
  const int64_t columns = x.size(1);
  TokenCodes made{.codes = at::empty_like(rows, at::kChar),
                  .scales = at::empty({x.size(0)}, x.options())};
  const auto* from = rows.const_data_ptr<float>();
  auto* codes = made.codes.mutable_data_ptr<int8_t>();
  auto* scales = made.scales.mutable_data_ptr<float>();
  at::parallel_for(0, x.size(0), std::max<int64_t>(kGrain / columns, 1),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row) {
                       const float* token = from + row * columns;
                       scales[row] = most(token, columns) / kMostTokenCode;
                       quantize_token(token, codes + row * columns, columns,
                                      scales[row] == 0 ? 0 : 1 / scales[row]);
                     }
                   });
  return made;
}

at::Tensor torch_dequantize(const at::Tensor& sums, const at::Tensor& x_scales,
                            const at::Tensor& weight_scales,
                            const std::optional<at::Tensor>& bias) {
  at::Tensor y = sums.to(x_scales.scalar_type()) * x_scales.unsqueeze(1) * weight_scales;
  return bias ? y + *bias : y;
}

at::Tensor dequantize(const at::Tensor& sums, const at::Tensor& x_scales,
                      const at::Tensor& weight_scales, const std::optional<at::Tensor>& bias) {
  const int64_t columns = sums.size(1);
  const at::Tensor rows = sums.contiguous();
  at::Tensor y = at::empty(sums.sizes(), x_scales.options());
  const auto* from = rows.const_data_ptr<int32_t>();
  const auto* of_rows = x_scales.const_data_ptr<float>();
  const auto* of_columns = weight_scales.const_data_ptr<float>();
  const float* added = bias ? bias->const_data_ptr<float>() : nullptr;
  auto* to = y.mutable_data_ptr<float>();
  at::parallel_for(0, sums.size(0), std::max<int64_t>(kGrain / columns, 1),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row)
                       dequantize_token(from + row * columns, to + row * columns, columns,
                                        of_rows[row], of_columns, added);
                   });
  return y;
}

}  // namespace fathom::ops
