#include <ATen/TensorOperators.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/linear.h>

#include <algorithm>
#include <string>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/check.h"
#include "ops/core/op.h"
#include "ops/kernels/quantized/drawn_inputs.h"
#include "ops/kernels/quantized/packed_linear.h"
#include "ops/kernels/quantized/torch_product.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;

constexpr double kFloat = 4;

/// A linear layer x [m, k] · Wᵀ (+ bias [n]) with W [n, k] in a quantised precision's format. In
/// int8, x is in uint8 and the result in fp32; `per_token`, x is in int8 and the result is the sums
/// in int32, to which op type dequantize gives the tokens' scales. In fp8, x is in e4m3, too, and
/// the result in fp32. In the other formats, x and the result are fp32.
struct QuantizedMatmulShape {
  int64_t m;
  int64_t n;
  int64_t k;
  bool bias;
  std::string format;
  bool per_token;

  void visit(Fields& fields) {
    fields.extent("m", m);
    fields.extent("n", n);
    fields.extent("k", k);
    fields.flag("bias", bias);
    fields.choice("format", format, kWeightFormats);
    fields.flag("per_token", per_token);
    fields.require(!per_token || (format == "int8" && !bias),
                   "\"per_token\" is of the format int8, without a bias");
    fields.require(has_format(format_precision(format), k),
                   "\"k\" is " + std::to_string(k) + ", expected whole groups of 32");
  }
};

/// Inputs {x, codes [n, k], scales [n, groups]}, then the zeros [n, groups] of int4w and the bias;
/// outputs {y}.
class QuantizedMatmul final : public Op {
 public:
  QuantizedMatmul(QuantizedMatmulShape shape, Pass /*pass*/)
      : shape_(std::move(shape)), precision_(format_precision(shape_.format)) {}

  /// FLOPs as of unquantised inputs, bytes of the packed weight.
  Cost cost(Precision /*precision*/) const override {
    const auto m = static_cast<double>(shape_.m);
    const auto n = static_cast<double>(shape_.n);
    const auto k = static_cast<double>(shape_.k);
    const double x = m * k * (has_codes() ? 1 : kFloat);
    return {.flops = 2 * m * n * k,
            .bytes = x + packed_bytes(precision_, n, k) + kFloat * (m * n + (shape_.bias ? n : 0)),
            .macs = m * n * k};
  }

  /// Of the codes before they are packed.
  double untouched_bytes(Precision /*precision*/) const override {
    const auto n = static_cast<double>(shape_.n);
    const auto k = static_cast<double>(shape_.k);
    const double constants = weight_format(precision_).constants_of(n, k);
    return n * k + kFloat * constants - packed_bytes(precision_, n, k);
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    const auto& [m, n, k, bias, format, per_token] = shape_;
    Tensors made;
    if (has_codes()) {
      made.push_back(drawn_activations(draws, {m, k}, precision_));
      if (per_token) made[0] = (made[0].to(at::kInt) - 128).to(at::kChar);
    } else {
      made.push_back(draws.normal({m, k}));
    }
    const WeightCodes weight = drawn_weight(draws, n, k, precision_);
    made.push_back(weight.codes);
    made.push_back(weight.scales);
    if (weight.zeros.defined()) made.push_back(weight.zeros);
    if (bias) made.push_back(draws.normal({n}));
    return made;
  }

  Call call(const Tensors& in) const override {
    QuantizedProduct product;
    if (in[2].scalar_type() != at::kDouble) product = torch(weight(in), bias(in));
    if (product == nullptr) return [this, in]() -> Tensors { return {reference(in)}; };
    return call_of(product, in);
  }

  Call native(const Tensors& in) const override {
    if (has_codes()) return nullptr;
    return call_of([packed = packed(weight(in)), bias = bias(in)](
                       const at::Tensor& x) { return packed_linear(x, packed, bias); },
                   in);
  }

  bool native_on(fixtures::Device device) const override {
    return device == fixtures::Device::kCpu;
  }

  std::vector<Backend> backends() const override {
    if (precision_ == Precision::kFp8) return {Backend::kTorch, Backend::kCublas};
    if (shape_.per_token) return {Backend::kTorch, Backend::kOneDnn, Backend::kCublas};
    if (has_codes()) return {Backend::kTorch, Backend::kOneDnn};
    if (fixtures::is_of_llama_cpp(precision_)) return {Backend::kNative};
    return {Backend::kTorch, Backend::kNative};
  }

  Backend backend_in_steps(fixtures::Device /*device*/) const override {
    return backends().front();
  }

  std::optional<Precision> only_precision() const override { return precision_; }

  std::string kernel(Backend backend) const override {
    return backend == Backend::kNative ? std::string(kPackedLinearName)
                                       : torch_product_name(precision_, shape_.per_token);
  }

  /// Sums are exact; so is what our kernels compute, but for rounding in fp32. LibTorch's kernels
  /// of weights alone compute in bf16, and a GPU adds products of e4m3 with fewer bits than fp32
  /// has.
  void check(const Tensors& /*inputs*/, const Tensors& outputs, Precision /*precision*/,
             const Call& reference) const override {
    const Tensors expected = reference();
    if (shape_.per_token) return expect_equal(outputs[0], expected[0]);
    const at::Tensor rounded = outputs[0].to(at::kBFloat16).to(at::kFloat);
    const bool is_bf16 =
        precision_ == Precision::kFp8 || (!has_codes() && rounded.equal(outputs[0]));
    expect_close(outputs, expected, is_bf16 ? Precision::kBf16 : Precision::kFp32);
  }

  std::optional<double> quantization_error(uint64_t seed) const override {
    constexpr int64_t kMost = 256;  // rows and columns that show it
    RandomInputs draws(seed);
    const at::Tensor x = draws.normal({std::min(shape_.m, kMost), shape_.k}).to(at::kDouble);
    const at::Tensor w = draws.weight({std::min(shape_.n, kMost), shape_.k}, shape_.k);
    WeightCodes codes =
        quantized(w, precision_, precision_ == Precision::kInt8 ? exact_weight_bits() : 8);
    return relative_distance(at::linear(rounded(x), codes.dequantized().to(at::kDouble)),
                             at::linear(x, w.to(at::kDouble)));
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    const bool is_fp8 = precision_ == Precision::kFp8;
    const auto codes = [&](const at::Tensor& tensor) {
      return buffer(is_fp8 ? as_fp8(tensor) : tensor);
    };
    QuantizedMatmulProblem problem{.a = codes(in[0]), .b = codes(in[1].t()), .c = buffer(out[0])};
    if (shape_.per_token) return problem;
    problem.quantization = {.x_scale = static_cast<float>(x_codes().scale),
                            .x_zero = static_cast<int32_t>(x_codes().zero),
                            .w_scales = buffer(in[2].squeeze(1))};
    if (shape_.bias) problem.bias = buffer(in.back());
    return problem;
  }

 private:
  /// Whether x is codes, too.
  bool has_codes() const { return !fixtures::is_weight_only(precision_); }

  /// Those that x has.
  const ActivationCodes& x_codes() const {
    return precision_ == Precision::kFp8 ? kDrawnFp8 : kDrawnCodes;
  }

  WeightCodes weight(const Tensors& in) const {
    WeightCodes weight{.precision = precision_,
                       .codes = precision_ == Precision::kFp8 ? as_fp8(in[1]) : in[1],
                       .scales = in[2]};
    if (weight_format(precision_).zeros) weight.zeros = in[3];
    return weight;
  }

  std::optional<at::Tensor> bias(const Tensors& in) const {
    return shape_.bias ? std::optional(in.back()) : std::nullopt;
  }

  QuantizedProduct torch(const WeightCodes& weight, const std::optional<at::Tensor>& bias) const {
    if (!has_codes()) return torch_product(weight, bias);
    return shape_.per_token ? torch_sums(weight) : torch_product(weight, bias, x_codes());
  }

  Call call_of(const QuantizedProduct& product, const Tensors& in) const {
    return [product, x = precision_ == Precision::kFp8 ? as_fp8(in[0]) : in[0]]() -> Tensors {
      return {product(x)};
    };
  }

  /// The product of the dequantised weight, never of the unquantised one.
  at::Tensor reference(const Tensors& in) const {
    if (shape_.per_token) return at::linear(in[0].to(at::kDouble), in[1].to(at::kDouble));
    const at::Tensor x = has_codes() ? real(in[0], in[2], precision_) : rounded(in[0]);
    return at::linear(x, weight(in).dequantized(), bias(in));
  }

  /// x as the kernel multiplies it, where that is not codes that were drawn.
  at::Tensor rounded(const at::Tensor& x) const {
    if (fixtures::is_of_llama_cpp(precision_)) return rounded_to_q8_0(x);
    if (!has_codes()) return x;
    if (precision_ == Precision::kFp8)
      return real(as_bytes(fp8(x / kDrawnFp8.scale)), x, precision_);
    if (!shape_.per_token)
      return real(torch_quantize(x.to(at::kFloat), kDrawnCodes), x, precision_);
    const TokenCodes tokens = torch_quantize_tokens(x);
    return tokens.codes.to(at::kDouble) * tokens.scales.unsqueeze(1);
  }

  static void expect_equal(const at::Tensor& found, const at::Tensor& expected) {
    const at::Tensor wrong = found.cpu().to(at::kDouble) != expected;
    if (!wrong.any().item<bool>()) return;
    const auto first = wrong.flatten().nonzero()[0].item<int64_t>();
    const auto shown = [first](const at::Tensor& sums) {
      return std::to_string(sums.cpu().flatten()[first].item<int64_t>());
    };
    throw std::runtime_error("a sum of products of int8 is " + shown(found) + ", expected " +
                             shown(expected));
  }

  QuantizedMatmulShape shape_;
  Precision precision_;
};

/// The scope op:quantized_matmul(x, codes, has a bias, format).
std::vector<MatchedOp> match_quantized_matmul(const ObservedCall& call) {
  const at::Tensor& x = call.arguments[0].toTensor();
  const at::Tensor& codes = call.arguments[1].toTensor();
  return {matched(Pass::kForward,
                  QuantizedMatmulShape{.m = x.size(0),
                                       .n = codes.size(0),
                                       .k = codes.size(1),
                                       .bias = call.arguments[2].toBool(),
                                       .format = std::string(call.arguments[3].toStringView()),
                                       .per_token = x.scalar_type() == at::kChar})};
}

}  // namespace

OpType quantized_matmul_type() {
  return {.name = "quantized_matmul",
          .op_class = OpClass::kMatrix,
          .passes = {Pass::kForward},
          .examples = {R"({"m": 4, "n": 21, "k": 96, "format": "int4w", "bias": true})",
                       R"({"m": 3, "n": 13, "k": 19, "format": "int8", "bias": true})",
                       R"({"m": 17, "n": 7, "k": 256, "format": "int8", "per_token": true})",
                       R"({"m": 5, "n": 18, "k": 70, "format": "fp8", "bias": true})",
                       R"({"m": 1, "n": 5, "k": 67, "format": "int8w", "bias": true})",
                       R"({"m": 8, "n": 3, "k": 160, "format": "q8_0"})",
                       R"({"m": 2, "n": 33, "k": 32, "format": "q4_0"})",
                       R"({"m": 9, "n": 16, "k": 288, "format": "int4w"})"},
          .fields = fields_of<QuantizedMatmulShape>,
          .make = make_op<QuantizedMatmul, QuantizedMatmulShape>,
          .match = match_quantized_matmul};
}

}  // namespace fathom::ops
