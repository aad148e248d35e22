#include "ops/kernels/quantized/drawn_inputs.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

#include "ops/kernels/quantized/torch_product.h"

namespace fathom::ops {

using fixtures::Precision;

Precision format_precision(std::string_view format) {
  const auto place = std::ranges::find(fixtures::kPrecisionNames, format);
  return static_cast<Precision>(place - fixtures::kPrecisionNames.begin());
}

WeightCodes drawn_weight(RandomInputs& draws, int64_t n, int64_t k, Precision precision) {
  const int bits = precision == Precision::kInt8 ? exact_weight_bits() : 8;
  WeightCodes weight = quantized(draws.weight({n, k}, k), precision, bits);
  weight.codes[0].fill_(weight.codes.max());
  if (n > 1) weight.codes[1].fill_(weight.codes.min());
  return weight;
}

at::Tensor drawn_activations(RandomInputs& draws, at::IntArrayRef sizes) {
  at::Tensor codes = torch_quantize(draws.normal(sizes), kDrawnCodes);
  const at::Tensor first = codes[0].view(-1);
  first.slice(0, 0, (first.numel() + 1) / 2).fill_(255);
  return codes;
}

at::Tensor real(const at::Tensor& codes, const at::Tensor& like) {
  return (codes.to(like.scalar_type()) - kDrawnCodes.zero) * kDrawnCodes.scale;
}

}  // namespace fathom::ops
