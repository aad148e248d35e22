#include <ATen/TensorOperators.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ops/core/call_args.h"
#include "ops/core/check.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/quantized/activations.h"
#include "ops/kernels/quantized/drawn_inputs.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;

constexpr double kFloat = 4;

/// Activations x to codes: of any sizes in uint8 or e4m3 with one scale, or, `per_token`, of [M, K]
/// in int8 with a scale for each row.
struct QuantizeShape {
  Sizes sizes;
  std::string format;
  bool per_token;

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.choice("format", format, kActivationFormats);
    fields.flag("per_token", per_token);
    fields.require(!per_token || sizes.size() == 2, "\"per_token\" is of two \"sizes\"");
    fields.require(!per_token || format == "int8", "\"per_token\" is of the format int8");
  }
};

/// {x} gives {codes} or {codes, scales [M]}. Codes in e4m3 are bytes.
class Quantize final : public Op {
 public:
  Quantize(QuantizeShape shape, Pass /*pass*/)
      : shape_(std::move(shape)), precision_(format_precision(shape_.format)) {}

  /// A multiply and an add for each element; per token, the largest is found before.
  Cost cost(Precision /*precision*/) const override {
    const double count = elements(shape_.sizes);
    const double scales = shape_.per_token ? static_cast<double>(shape_.sizes[0]) : 0;
    return {.flops = 2 * count, .bytes = count * (kFloat + 1) + kFloat * scales};
  }

  Tensors inputs(uint64_t seed) const override { return {RandomInputs(seed).normal(shape_.sizes)}; }

  Call call(const Tensors& in) const override {
    const at::Tensor& x = in[0];
    if (shape_.per_token) {
      return [x]() -> Tensors {
        const auto [codes, scales] = torch_quantize_tokens(x);
        return {codes, scales};
      };
    }
    if (precision_ == Precision::kFp8)
      return [x]() -> Tensors { return {as_bytes(fp8(x / kDrawnFp8.scale))}; };
    if (x.scalar_type() == at::kFloat)
      return [x]() -> Tensors { return {torch_quantize(x, kDrawnCodes)}; };
    return [x]() -> Tensors {
      return {((x / kDrawnCodes.scale).round() + kDrawnCodes.zero).clamp(0, 255).to(at::kByte)};
    };
  }

  Call native(const Tensors& in) const override {
    if (precision_ == Precision::kFp8) return nullptr;
    if (!shape_.per_token) return [x = in[0]]() -> Tensors { return {quantize(x, kDrawnCodes)}; };
    return [x = in[0]]() -> Tensors {
      const auto [codes, scales] = quantize_tokens(x);
      return {codes, scales};
    };
  }

  bool native_on(fixtures::Device device) const override {
    return device == fixtures::Device::kCpu;
  }

  std::optional<Precision> only_precision() const override { return precision_; }

  std::vector<Backend> backends() const override {
    if (precision_ == Precision::kFp8) return {Backend::kTorch};
    return {Backend::kTorch, Backend::kNative};
  }

  /// Two right implementations round a few numbers near the middle of two codes to either.
  void check(const Tensors& /*inputs*/, const Tensors& outputs, Precision /*precision*/,
             const Call& reference) const override {
    constexpr double kMostShare = 0.01;
    const Tensors expected = reference();
    const at::Tensor difference = (outputs[0].cpu().to(at::kInt) - expected[0].to(at::kInt)).abs();
    if (difference.max().item<int64_t>() > 1)
      throw std::runtime_error("a code differs by " +
                               std::to_string(difference.max().item<int64_t>()) +
                               " from the float64 reference, expected at most 1");
    const double share = difference.to(at::kDouble).mean().item<double>();
    const double most =
        std::max(kMostShare, 1.5 / static_cast<double>(difference.numel()));  // one of a few
    if (share > most)
      throw std::runtime_error(std::to_string(100 * share) +
                               " % of the codes differ from the float64 reference, expected at "
                               "most " +
                               std::to_string(100 * most) + " %");
    if (shape_.per_token)
      expect_close(Tensors{outputs[1]}, Tensors{expected[1]}, Precision::kFp32, 1, 1);
  }

 private:
  QuantizeShape shape_;
  Precision precision_;
};

/// The scope op:quantize(x, per token, format).
std::vector<MatchedOp> match_quantize(const ObservedCall& call) {
  return {
      matched(Pass::kForward, QuantizeShape{.sizes = call.arguments[0].toTensor().sizes().vec(),
                                            .format = std::string(call.arguments[2].toStringView()),
                                            .per_token = call.arguments[1].toBool()})};
}

/// Sums [m, n] of products of codes to fp32, with the scales of tokens and output channels.
struct DequantizeShape {
  int64_t m;
  int64_t n;
  bool bias;
  std::string format;

  void visit(Fields& fields) {
    fields.extent("m", m);
    fields.extent("n", n);
    fields.flag("bias", bias);
    fields.choice("format", format, kInt8Formats);
  }
};

/// {sums int32 [m, n], scales [m], scales [n]} or these and a bias [n] gives {y [m, n]}.
class Dequantize final : public Op {
 public:
  Dequantize(DequantizeShape shape, Pass /*pass*/) : shape_(std::move(shape)) {}

  Cost cost(Precision /*precision*/) const override {
    const auto m = static_cast<double>(shape_.m);
    const auto n = static_cast<double>(shape_.n);
    return {.flops = m * n * (shape_.bias ? 3 : 2),
            .bytes = kFloat * (2 * m * n + m + n * (shape_.bias ? 2 : 1))};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{draws.integers({shape_.m, shape_.n}, -1 << 24, 1 << 24).to(at::kInt),
                 draws.uniform({shape_.m}, 1e-4, 1e-2), draws.uniform({shape_.n}, 1e-4, 1e-2)};
    if (shape_.bias) made.push_back(draws.normal({shape_.n}));
    return made;
  }

  Call call(const Tensors& in) const override {
    return [in, bias = bias(in)]() -> Tensors {
      return {torch_dequantize(in[0], in[1], in[2], bias)};
    };
  }

  Call native(const Tensors& in) const override {
    return [in, bias = bias(in)]() -> Tensors { return {dequantize(in[0], in[1], in[2], bias)}; };
  }

  bool native_on(fixtures::Device device) const override {
    return device == fixtures::Device::kCpu;
  }

  std::optional<Precision> only_precision() const override { return Precision::kInt8; }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kNative}; }

 private:
  std::optional<at::Tensor> bias(const Tensors& in) const {
    return shape_.bias ? std::optional(in[3]) : std::nullopt;
  }

  DequantizeShape shape_;
};

/// The scope op:dequantize(sums, has a bias, format).
std::vector<MatchedOp> match_dequantize(const ObservedCall& call) {
  const at::Tensor& sums = call.arguments[0].toTensor();
  return {matched(Pass::kForward,
                  DequantizeShape{.m = sums.size(0),
                                  .n = sums.size(1),
                                  .bias = call.arguments[1].toBool(),
                                  .format = std::string(call.arguments[2].toStringView())})};
}

}  // namespace

OpType quantize_type() {
  return {.name = "quantize",
          .op_class = OpClass::kElementwise,
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [3, 5, 7, 2], "format": "int8"})",
                       R"({"sizes": [9, 33], "format": "fp8"})",
                       R"({"sizes": [5, 67], "format": "int8", "per_token": true})"},
          .fields = fields_of<QuantizeShape>,
          .make = make_op<Quantize, QuantizeShape>,
          .match = match_quantize};
}

OpType dequantize_type() {
  return {.name = "dequantize",
          .op_class = OpClass::kElementwise,
          .passes = {Pass::kForward},
          .examples = {R"({"m": 3, "n": 19, "bias": true, "format": "int8"})",
                       R"({"m": 1, "n": 64, "format": "int8"})"},
          .fields = fields_of<DequantizeShape>,
          .make = make_op<Dequantize, DequantizeShape>,
          .match = match_dequantize};
}

}  // namespace fathom::ops
