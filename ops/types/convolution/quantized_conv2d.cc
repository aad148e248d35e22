#include <ATen/TensorOperators.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/conv2d.h>

#include <algorithm>
#include <string>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/check.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/quantized/drawn_inputs.h"
#include "ops/kernels/quantized/torch_product.h"
#include "ops/types/convolution/conv2d_shape.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;

/// A convolution of images in uint8 with a filter in int8, in fp32.
struct QuantizedConv2dShape {
  Conv2dShape convolution;
  std::string format;

  void visit(Fields& fields) {
    convolution.visit(fields);
    fields.choice("format", format, kInt8Formats);
  }
};

/// {x uint8 [N, C, H, W], codes [K, C / groups, R, S], scales [K, 1]}, then the bias [K], gives
/// {y [N, K, P, Q]}.
class QuantizedConv2d final : public Op {
 public:
  QuantizedConv2d(const QuantizedConv2dShape& shape, Pass /*pass*/) : shape_(shape.convolution) {}

  Cost cost(Precision /*precision*/) const override {
    const auto [height, width] = shape_.output();
    const double y = elements({shape_.batch, shape_.out_channels, height, width});
    const auto channels = static_cast<double>(shape_.out_channels);
    constexpr double kFloat = 4;
    return {.flops = shape_.flops(),
            .bytes = elements(shape_.input()) + elements(shape_.weight()) +
                     kFloat * (y + channels * (shape_.bias ? 2 : 1)),
            .macs = shape_.macs()};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{drawn_activations(draws, shape_.input(), Precision::kInt8)};
    const WeightCodes weight = drawn_weight(draws, shape_.out_channels, fan_in(), Precision::kInt8);
    made.push_back(weight.codes.view(shape_.weight()));
    made.push_back(weight.scales);
    if (shape_.bias) made.push_back(draws.normal({shape_.out_channels}));
    return made;
  }

  Call call(const Tensors& in) const override {
    const std::optional<at::Tensor> bias = shape_.bias ? std::optional(in[3]) : std::nullopt;
    if (in[2].scalar_type() == at::kDouble) {
      const at::Tensor w = in[1].to(at::kDouble) * in[2].view({-1, 1, 1, 1});
      return [=, s = shape_, x = real(in[0], in[2], Precision::kInt8)]() -> Tensors {
        return {at::conv2d(x, w, bias, s.stride, s.padding, s.dilation, s.groups)};
      };
    }
    const WeightCodes weight{.precision = Precision::kInt8, .codes = in[1], .scales = in[2]};
    return [x = in[0], product = torch_convolution(weight, bias, kDrawnCodes,
                                                   {shape_.stride, shape_.padding, shape_.dilation,
                                                    shape_.groups})]() -> Tensors {
      return {product(x)};
    };
  }

  std::optional<Precision> only_precision() const override { return Precision::kInt8; }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kOneDnn}; }

  std::string kernel(Backend /*backend*/) const override { return torch_convolution_name(); }

  std::optional<double> quantization_error(uint64_t seed) const override {
    constexpr int64_t kMost = 64;  // filters that show it
    RandomInputs draws(seed);
    Conv2dShape s = shape_;
    s.batch = 1;
    if (s.groups == 1) s.out_channels = std::min(s.out_channels, kMost);
    const at::Tensor x = draws.normal(s.input());
    const at::Tensor w = draws.weight({s.out_channels, fan_in()}, fan_in());
    const at::Tensor codes = quantized(w, Precision::kInt8, exact_weight_bits()).dequantized();
    const auto convolved = [&](const at::Tensor& image, const at::Tensor& filter) {
      return at::conv2d(image, filter.view(s.weight()), {}, s.stride, s.padding, s.dilation,
                        s.groups);
    };
    return relative_distance(
        convolved(real(torch_quantize(x, kDrawnCodes), x, Precision::kInt8), codes),
        convolved(x, w));
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    QuantizedConvolutionProblem problem{
        .convolution = {.writes = ConvolutionProblem::Writes::kY,
                        .x = buffer(in[0]),
                        .w = buffer(in[1]),
                        .y = buffer(out[0]),
                        .bias = {},
                        .stride = shape_.stride,
                        .padding = shape_.padding,
                        .dilation = shape_.dilation,
                        .groups = shape_.groups},
        .quantization = {.x_scale = static_cast<float>(kDrawnCodes.scale),
                         .x_zero = static_cast<int32_t>(kDrawnCodes.zero),
                         .w_scales = buffer(in[2].squeeze(1))}};
    if (shape_.bias) problem.convolution.bias = buffer(in[3]);
    return problem;
  }

 private:
  int64_t fan_in() const {
    const auto [k, c, r, s] = shape_.weight();
    return c * r * s;
  }

  Conv2dShape shape_;
};

/// The scope op:quantized_conv2d(x, codes, has a bias, stride, padding, dilation, groups, format).
std::vector<MatchedOp> match_quantized_conv2d(const ObservedCall& call) {
  const auto& in = call.arguments;
  const at::Tensor& x = in[0].toTensor();
  const at::Tensor& w = in[1].toTensor();
  return {
      matched(Pass::kForward, QuantizedConv2dShape{.convolution = {.batch = x.size(0),
                                                                   .in_channels = x.size(1),
                                                                   .out_channels = w.size(0),
                                                                   .image = {x.size(2), x.size(3)},
                                                                   .kernel = {w.size(2), w.size(3)},
                                                                   .stride = pair_argument(in[3]),
                                                                   .padding = pair_argument(in[4]),
                                                                   .dilation = pair_argument(in[5]),
                                                                   .groups = in[6].toInt(),
                                                                   .bias = in[2].toBool()},
                                                   .format = std::string(in[7].toStringView())})};
}

}  // namespace

OpType quantized_conv2d_type() {
  return {
      .name = "quantized_conv2d",
      .op_class = OpClass::kConvolution,
      .passes = {Pass::kForward},
      .examples =
          {R"({"n": 2, "c": 3, "k": 5, "image": [7, 6], "kernel": [3, 3], "padding": [1, 1], "bias": true, "format": "int8"})",
           R"({"n": 1, "c": 4, "k": 6, "image": [11, 13], "kernel": [5, 3], "groups": 2, "stride": [2, 1], "padding": [2, 0], "format": "int8"})",
           R"({"n": 1, "c": 8, "k": 8, "image": [9, 9], "kernel": [3, 3], "groups": 8, "format": "int8"})",
           R"({"n": 2, "c": 64, "k": 32, "image": [5, 5], "kernel": [1, 1], "bias": true, "format": "int8"})"},
      .fields = fields_of<QuantizedConv2dShape>,
      .make = make_op<QuantizedConv2d, QuantizedConv2dShape>,
      .match = match_quantized_conv2d};
}

}  // namespace fathom::ops
