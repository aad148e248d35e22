#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ops/kernels/quantized/drawn_inputs.h"
#include "ops/kernels/quantized/packed_linear.h"
#include "ops/kernels/quantized/torch_product.h"
#include "ops/types/quantized_rows.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;
using enum fixtures::Precision;

WeightCodes in_double(WeightCodes weight) {
  weight.scales = weight.scales.to(at::kDouble);
  if (weight.zeros.defined()) weight.zeros = weight.zeros.to(at::kDouble);
  return weight;
}

class WeightFormats : public testing::TestWithParam<Precision> {};

INSTANTIATE_TEST_SUITE_P(All, WeightFormats, testing::Values(kInt8, kInt8w, kInt4w, kQ8_0, kQ4_0),
                         [](const auto& one) { return std::string(name(one.param)); });

TEST_P(WeightFormats, AreAsFarFromNormalWeightsAsTheirStepsAreWide) {
  const at::Tensor weight = 0.02 * at::randn({64, 2048});
  const at::Tensor codes = quantized(weight, GetParam()).dequantized();
  const double distance = relative_distance(codes, weight);
  const bool four_bits = weight_format(GetParam()).bits == 4;
  EXPECT_GT(distance, four_bits ? 0.06 : 0.004);
  EXPECT_LT(distance, four_bits ? 0.1 : 0.011);
}

TEST_P(WeightFormats, HoldZerosExactly) {
  const at::Tensor zeros = at::zeros({2, 64});
  EXPECT_TRUE(quantized(zeros, GetParam()).dequantized().equal(zeros));
}

TEST_P(WeightFormats, TakeOtherScalesForOtherChannels) {
  at::Tensor weight = at::randn({2, 64});
  weight[1] *= 1000;
  const at::Tensor codes = quantized(weight, GetParam()).dequantized();
  EXPECT_LT(relative_distance(codes[0], weight[0]), 0.15);
}

TEST(Q4_0, HasTheCodesOfGgml) {
  // d = -8 / -8 = 1; min(15, trunc(w / d + 8.5)) - 8.
  at::Tensor weight = at::zeros({1, 32});
  weight[0][0] = -8;
  weight[0][1] = 7.6;  // 16, which does not fit
  weight[0][2] = 2.5;
  weight[0][3] = -2.5;
  weight[0][17] = -0.51;
  const WeightCodes codes = quantized(weight, kQ4_0);
  EXPECT_EQ(codes.scales.item<double>(), 1);
  EXPECT_EQ(codes.codes[0][0].item<int>(), -8);
  EXPECT_EQ(codes.codes[0][1].item<int>(), 7);
  EXPECT_EQ(codes.codes[0][2].item<int>(), 3);
  EXPECT_EQ(codes.codes[0][3].item<int>(), -2);
  EXPECT_EQ(codes.codes[0][17].item<int>(), -1);
}

TEST(Q8_0, RoundsHalvesAwayFromZero) {
  at::Tensor weight = at::zeros({1, 32});
  weight[0][0] = 127;
  weight[0][1] = 0.5;
  weight[0][2] = -0.5;
  const at::Tensor codes = quantized(weight, kQ8_0).codes;
  EXPECT_EQ(codes[0][1].item<int>(), 1);
  EXPECT_EQ(codes[0][2].item<int>(), -1);
}

TEST(Int4w, CountsItsBytesWithScalesAndZeros) {
  EXPECT_EQ(packed_bytes(kInt4w, 3, 64), 3 * (32 + 2 * 2 * 2));
  EXPECT_EQ(packed_bytes(kQ4_0, 3, 64), 3 * 2 * 18);
  EXPECT_EQ(packed_bytes(kQ8_0, 3, 64), 3 * 2 * 34);
  EXPECT_EQ(packed_bytes(kInt8w, 3, 64), 3 * (64 + 2));
}

/// The error of our kernel on blocks of so many outputs, relative to the result's root mean square.
double packed_error(const at::Tensor& x, const WeightCodes& weight,
                    const std::optional<at::Tensor>& bias, int64_t outputs) {
  const c10::InferenceMode inference;
  const bool rounds = fixtures::is_of_llama_cpp(weight.precision);
  const at::Tensor in = (rounds ? rounded_to_q8_0(x) : x).to(at::kDouble);
  at::Tensor exact = at::linear(in, in_double(weight).dequantized());
  if (bias) exact = exact + bias->to(at::kDouble);
  return relative_distance(packed_linear(x, packed(weight, outputs), bias), exact);
}

TEST(PackedLinear, EqualsTheProductOfTheDequantizedWeight) {
  for (const auto precision : {kInt8w, kInt4w, kQ8_0, kQ4_0}) {
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 131}) {
      for (const int64_t columns : {32, 64, 96, 288, 67}) {
        if (!has_format(precision, columns)) continue;
        const WeightCodes weight = quantized(at::randn({19, columns}), precision);
        const at::Tensor x = at::randn({rows, columns});
        for (int64_t outputs = 8; outputs <= packed_outputs(precision); outputs *= 2)
          EXPECT_LT(packed_error(x, weight, at::randn({19}), outputs), 2e-6)
              << name(precision) << ' ' << rows << " x " << columns << ", " << outputs;
      }
    }
  }
}

TEST(PackedLinear, RoundsTiesOfQ8_0AwayFromZero) {
  at::Tensor x = at::arange(-16, 16).to(at::kFloat).add_(0.5).unsqueeze(0);
  x[0][0] = 127;  // the scale is 1
  EXPECT_LT(packed_error(x, quantized(at::eye(32), kQ8_0), {}, 8), 1e-6);
}

TEST(PackedLinear, HoldsTheLargestSums) {
  const at::Tensor x = at::full({9, 64}, 127.0F);
  for (const auto precision : {kQ8_0, kQ4_0}) {
    at::Tensor weight = at::full({8, 64}, precision == kQ4_0 ? 7.0F : 127.0F);
    if (precision == kQ4_0) weight.select(1, 0).fill_(-8);  // the scale is 1, and 7 has code 15
    const WeightCodes codes = quantized(weight, precision);
    for (int64_t outputs = 8; outputs <= packed_outputs(precision); outputs *= 2)
      EXPECT_LT(packed_error(x, codes, {}, outputs), 1e-6) << name(precision) << ", " << outputs;
  }
}

TEST(Quantize, RoundsAndClampsAsLibTorch) {
  const c10::InferenceMode inference;
  const ActivationCodes how{.scale = 0.5, .zero = 3};
  const at::Tensor x = at::tensor({-5.0F, 0.0F, 0.25F, 0.75F, 1.25F, 1e9F, 126.0F, -1.5F});
  EXPECT_TRUE(quantize(x, how).equal(torch_quantize(x, how)));
}

TEST(Quantize, HoldsZeroAndBothEndsOfARange) {
  for (const auto& [least, most] : {std::pair{-1.0, 3.0}, {0.5, 2.0}, {-4.0, -1.0}, {0.0, 0.0}}) {
    const ActivationCodes how = ActivationCodes::of_range(least, most);
    EXPECT_GE(how.zero, 0);
    EXPECT_LE(how.zero, 255);
    for (const double end : {least, most, 0.0}) {
      const double code = end / how.scale + static_cast<double>(how.zero);
      EXPECT_GE(code, -0.5001);
      EXPECT_LE(code, 255.5001);
    }
  }
}

TEST(ExactWeightBits, MakeLibTorchsLargestSumsExact) {
  const c10::InferenceMode inference;
  const double most = exact_weight_bits() == 7 ? 63 : 127;
  const WeightCodes weight{.precision = kInt8,
                           .codes = at::full({2, 256}, most, at::kChar),
                           .scales = at::full({2, 1}, 1.0F)};
  const at::Tensor x = at::full({1, 256}, 255, at::kByte);
  EXPECT_EQ(torch_product(weight, {}, {.scale = 1, .zero = 0})(x)[0][0].item<double>(),
            256 * 255 * most);
}

/// A quantised op with its inputs and what a faulty kernel makes of them.
struct Faulty {
  explicit Faulty(std::string_view fields) : op(make_op("quantized_matmul", kForward, fields)) {
    in = op->inputs(3);
  }

  /// The result of the op over other inputs.
  at::Tensor over(const Tensors& other) const {
    const c10::InferenceMode inference;
    return op->call(converted(other, at::kDouble, at::kCPU))()[0].to(at::kFloat);
  }

  bool passes(const at::Tensor& result) const {
    try {
      op->check(in, {result}, *op->only_precision());
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  std::unique_ptr<Op> op;
  Tensors in;
};

TEST(QuantizedMatmul, NoticesOneScaleForAllChannels) {
  for (const auto fields : {R"({"m": 4, "n": 21, "k": 96, "format": "int8"})",
                            R"({"m": 4, "n": 21, "k": 96, "format": "int8w"})",
                            R"({"m": 4, "n": 21, "k": 96, "format": "int4w"})"}) {
    const Faulty one(fields);
    EXPECT_TRUE(one.passes(one.over(one.in)));
    Tensors other = one.in;
    other[2] = at::full(other[2].sizes(), other[2].mean().item<double>());
    EXPECT_FALSE(one.passes(one.over(other))) << fields;
  }
}

TEST(QuantizedMatmul, NoticesADroppedZero) {
  const Faulty weights(R"({"m": 4, "n": 21, "k": 96, "format": "int4w"})");
  Tensors other = weights.in;
  other[3] = at::zeros(other[3].sizes());
  EXPECT_FALSE(weights.passes(weights.over(other)));

  const Faulty activations(R"({"m": 4, "n": 21, "k": 96, "format": "int8"})");
  const at::Tensor zeros =
      kDrawnCodes.scale * static_cast<double>(kDrawnCodes.zero) *
      (activations.in[1].to(at::kDouble).sum(1) * activations.in[2].squeeze(1));
  const at::Tensor result = activations.over(activations.in);
  EXPECT_FALSE(activations.passes(result + zeros.to(at::kFloat)));
}

TEST(QuantizedMatmul, NoticesSwappedNibbles) {
  for (const auto fields : {R"({"m": 4, "n": 21, "k": 96, "format": "int4w"})",
                            R"({"m": 4, "n": 21, "k": 96, "format": "q4_0"})"}) {
    const Faulty one(fields);
    const at::Tensor halves = one.in[1].view({21, -1, 2, 16});
    Tensors other = one.in;
    other[1] = at::cat({halves.select(2, 1), halves.select(2, 0)}, 2).view({21, 96});
    EXPECT_FALSE(one.passes(one.over(other))) << fields;
  }
}

/// Sums of pairs of products in 16 bits, which saturate, as of CPUs without VNNI.
at::Tensor saturated(const at::Tensor& x, const at::Tensor& w) {
  const at::Tensor products = x.to(at::kDouble).unsqueeze(1) * w.to(at::kDouble);
  return products.view({x.size(0), w.size(0), -1, 2}).sum(-1).clamp(-32768, 32767).sum(-1);
}

TEST(QuantizedMatmul, NoticesSumsThatSaturate) {
  for (const auto rows : {"1", "4"}) {
    Faulty one(std::string(R"({"m": )") + rows + R"(, "n": 21, "k": 96, "format": "int8"})");
    one.in[1][0].fill_(127);  // as drawn where sums do not saturate
    const at::Tensor zero =
        static_cast<double>(kDrawnCodes.zero) * one.in[1].to(at::kDouble).sum(1);
    const at::Tensor result =
        (saturated(one.in[0], one.in[1]) - zero) * kDrawnCodes.scale * one.in[2].squeeze(1);
    EXPECT_FALSE(one.passes(result.to(at::kFloat))) << rows;
  }
}

TEST(QuantizedMatmul, TellsHowFarQuantizingMovesTheResult) {
  const auto error = [](std::string_view format) {
    return *make_op("quantized_matmul", kForward,
                    R"({"m": 4, "n": 64, "k": 512, "format": ")" + std::string(format) + "\"}")
                ->quantization_error(3);
  };
  EXPECT_LT(error("int8w"), 0.012);
  EXPECT_LT(error("q8_0"), 0.012);
  EXPECT_LT(error("int8"), 0.02);
  for (const auto format : {"int4w", "q4_0"}) {
    EXPECT_GT(error(format), 0.06) << format;
    EXPECT_LT(error(format), 0.11) << format;
  }
}

TEST(QuantizedMatmul, RefusesColumnsThatAreNoWholeGroups) {
  EXPECT_THROW(
      make_op("quantized_matmul", kForward, R"({"m": 1, "n": 1, "k": 48, "format": "int4w"})"),
      ShapeError);
}

/// The names of the op types of quantised rows, with the count of inferences.
std::string types_of(std::string_view rows, Precision precision) {
  const auto shapes =
      parse_shapes(R"({"workload": "w", "rows": [)" + std::string(rows) + "]}", "rows");
  std::string text;
  for (const auto& row : quantized_rows(shapes, fixtures::Device::kCpu, precision)) {
    if (!text.empty()) text += ' ';
    text += std::string(row.type->name) + ':' + std::to_string(row.infer_count);
  }
  return text;
}

constexpr std::string_view kLinear =
    R"({"op": "matmul", "layer": "a", "pass": "forward", "infer_count": 2, "m": 4, "n": 8, "k": 64, "transpose_b": true, "bias": true})";
constexpr std::string_view kOtherLinear =
    R"(, {"op": "matmul", "layer": "b", "pass": "forward", "infer_count": 1, "m": 4, "n": 9, "k": 64, "transpose_b": true})";
constexpr std::string_view kConvolution =
    R"(, {"op": "conv2d", "layer": "c", "pass": "forward", "infer_count": 1, "n": 1, "c": 3, "k": 8, "image": [5, 5], "kernel": [3, 3]})";
constexpr std::string_view kNoLayer =
    R"(, {"op": "matmul", "layer": "d", "pass": "forward", "infer_count": 1, "m": 4, "n": 9, "k": 64}, {"op": "matmul", "layer": "e", "pass": "dgrad", "count": 1, "m": 4, "n": 9, "k": 64, "transpose_b": true})";

TEST(QuantizedRows, AreThoseOfLayersWithOneRowForEachShape) {
  const std::string linear =
      std::string(kLinear) + std::string(kOtherLinear) + std::string(kNoLayer);
  EXPECT_EQ(types_of(linear, kInt4w), "quantized_matmul:2 quantized_matmul:1");
  EXPECT_EQ(types_of(linear, kInt8),
            "quantize:3 quantized_matmul:2 dequantize:2 quantized_matmul:1 dequantize:1");
}

TEST(QuantizedRows, HaveOneScaleWhereANetworkHasConvolutions) {
  const std::string rows = std::string(kLinear) + std::string(kConvolution);
  EXPECT_EQ(types_of(rows, kInt8), "quantize:2 quantized_matmul:2 quantize:1 quantized_conv2d:1");
  EXPECT_EQ(types_of(rows, kInt8w), "") << "weights alone are of language models";
}

}  // namespace
}  // namespace fathom::ops
