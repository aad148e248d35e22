#include "ops/kernels/quantized/drawn_inputs.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

#include "ops/kernels/quantized/torch_product.h"

namespace fathom::ops {

using fixtures::Precision;

namespace {

// The bytes of e4m3's 448 and -448, and the largest code in uint8.
constexpr int64_t kLargestFp8 = 0x7E;
constexpr int64_t kLeastFp8 = 0xFE;
constexpr int64_t kLargestCode = 255;

}  // namespace

Precision format_precision(std::string_view format) {
  const auto place = std::ranges::find(fixtures::kPrecisionNames, format);
  return static_cast<Precision>(place - fixtures::kPrecisionNames.begin());
}

WeightCodes drawn_weight(RandomInputs& draws, int64_t n, int64_t k, Precision precision) {
  const int bits = precision == Precision::kInt8 ? exact_weight_bits() : 8;
  WeightCodes weight = quantized(draws.weight({n, k}, k), precision, bits);
  const bool is_fp8 = precision == Precision::kFp8;
  if (is_fp8) weight.codes = as_bytes(weight.codes);
  weight.codes[0].fill_(is_fp8 ? at::Scalar(kLargestFp8) : weight.codes.max().item());
  if (n > 1) weight.codes[1].fill_(is_fp8 ? at::Scalar(kLeastFp8) : weight.codes.min().item());
  return weight;
}

at::Tensor drawn_activations(RandomInputs& draws, at::IntArrayRef sizes, Precision precision) {
  const bool is_fp8 = precision == Precision::kFp8;
  const at::Tensor x = draws.normal(sizes);
  at::Tensor codes = is_fp8 ? as_bytes(fp8(x / kDrawnFp8.scale)) : torch_quantize(x, kDrawnCodes);
  const at::Tensor first = codes[0].view(-1);
  first.slice(0, 0, (first.numel() + 1) / 2).fill_(is_fp8 ? kLargestFp8 : kLargestCode);
  return codes;
}

at::Tensor real(const at::Tensor& codes, const at::Tensor& like, Precision precision) {
  if (precision == Precision::kFp8) return as_fp8(codes).to(like.scalar_type()) * kDrawnFp8.scale;
  return (codes.to(like.scalar_type()) - kDrawnCodes.zero) * kDrawnCodes.scale;
}

}  // namespace fathom::ops
