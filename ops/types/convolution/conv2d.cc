#include <ATen/ops/_convolution_double_backward.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/check.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/convolution_double_backward.h"
#include "ops/types/convolution/conv2d_shape.h"

namespace fathom::ops {
namespace {

/// Of the gradients {dg, dx, dw} of dx and dw, those that a double backward pass gives.
constexpr std::array<bool, 3> kWantsBoth{true, false, true};

/// Forward: {x [N, C, H, W], weight [K, C / groups, R, S]} or {x, weight, bias [K]} gives
/// {y [N, K, P, Q]}. Gradients: {x, weight, g}, with g of the shape of y, gives {dx} (dgrad), or
/// {dw} or {dw, dbias} (wgrad). Double backward: {x, weight, g, ddx}, with ddx the gradient of dx,
/// gives the gradients {dg, dw} of dx.
class Conv2d final : public Op {
 public:
  Conv2d(const Conv2dShape& shape, Pass pass) : shape_(shape), pass_(pass) {}

  Cost cost(fixtures::Precision precision) const override {
    const auto [height, width] = shape_.output();
    const double x = elements(shape_.input());
    const double w = elements(shape_.weight());
    const double y = elements({shape_.batch, shape_.out_channels, height, width});
    if (pass_ == Pass::kDoubleBackward) {  // reads ddx, w and g, and writes dg and dw
      return {.flops = 2 * shape_.flops(),
              .bytes = element_bytes(precision) * (x + 2 * w + 2 * y),
              .macs = 2 * shape_.macs()};
    }
    // Each other pass reads two of x, w and y and writes the third. dgrad does not use the bias.
    const double b =
        shape_.bias && pass_ != Pass::kDgrad ? static_cast<double>(shape_.out_channels) : 0.0;
    return {.flops = shape_.flops(),
            .bytes = element_bytes(precision) * (x + w + y + b),
            .macs = shape_.macs()};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    const auto [height, width] = shape_.output();
    const auto weights = shape_.weight();
    const auto image = shape_.input();
    Tensors made{draws.normal(image), draws.weight(weights, weights[1] * weights[2] * weights[3])};
    if (pass_ != Pass::kForward) {
      made.push_back(draws.normal({shape_.batch, shape_.out_channels, height, width}));
    } else if (shape_.bias) {
      made.push_back(draws.normal({shape_.out_channels}));
    }
    if (pass_ == Pass::kDoubleBackward) made.push_back(draws.normal(image));
    return made;
  }

  Call call(const Tensors& in) const override {
    const Conv2dShape& s = shape_;
    if (pass_ == Pass::kForward) {
      return [s, x = in[0], w = in[1], b = s.bias ? in[2] : at::Tensor()]() -> Tensors {
        return {at::conv2d(x, w, b, s.stride, s.padding, s.dilation, s.groups)};
      };
    }
    if (pass_ == Pass::kDoubleBackward) {
      return [s, x = in[0], w = in[1], g = in[2], ddx = in[3]]() -> Tensors {
        const auto [dg, dx, dw] = at::_convolution_double_backward(
            ddx, {}, {}, g, w, x, s.stride, s.padding, s.dilation, /*transposed=*/false,
            /*output_padding=*/{0, 0}, s.groups, kWantsBoth);
        return {dg, dw};
      };
    }
    const std::array<bool, 3> wanted{pass_ == Pass::kDgrad, pass_ == Pass::kWgrad,
                                     pass_ == Pass::kWgrad && s.bias};
    return [s, wanted, x = in[0], w = in[1], g = in[2]] {
      const std::vector<int64_t> bias{s.out_channels};
      const auto [dx, dw, db] = at::convolution_backward(
          g, x, w, wanted[2] ? at::OptionalIntArrayRef(bias) : std::nullopt, s.stride, s.padding,
          s.dilation, /*transposed=*/false, /*output_padding=*/{0, 0}, s.groups, wanted);
      if (wanted[0]) return Tensors{dx};
      return wanted[2] ? Tensors{dw, db} : Tensors{dw};
    };
  }

  Call native(const Tensors& in) const override {
    if (pass_ != Pass::kDoubleBackward) return nullptr;
    const ConvolutionOptions options{shape_.stride, shape_.padding, shape_.dilation, shape_.groups};
    return [options, w = in[1], g = in[2], ddx = in[3]]() -> Tensors {
      const auto [dg, dw] = convolution_double_backward(ddx, g, w, options);
      return {dg, dw};
    };
  }

  Backend backend_in_steps(fixtures::Device /*device*/) const override {
    return pass_ == Pass::kDoubleBackward ? Backend::kNative : Backend::kTorch;
  }

  /// Winograd's transforms in fp32 have rare errors of ten times the usual tolerance, relative to
  /// the result's root mean square. That of all errors is no larger than usual.
  void check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision precision,
             const Call& reference) const override {
    const Tensors expected = reference();
    Summands summands(*this, inputs, expected);
    const double factor = precision == fixtures::Precision::kFp32 ? 10 : 1;
    expect_close(outputs, expected, precision, factor, 0, &summands);
    expect_small_error(outputs, expected, precision, tolerance(precision), &summands);
  }

  std::vector<Backend> backends() const override {
    if (pass_ == Pass::kDoubleBackward) return {Backend::kTorch, Backend::kNative};
    std::vector<Backend> all{Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
    if (pass_ == Pass::kForward) all.push_back(Backend::kTorchPacked);
    return all;
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    using enum ConvolutionProblem::Writes;
    const bool forward = pass_ == Pass::kForward;
    const bool wgrad = pass_ == Pass::kWgrad;
    ConvolutionProblem problem{.writes = forward ? kY
                                         : wgrad ? kW
                                                 : kX,
                               .x = buffer(pass_ == Pass::kDgrad ? out[0] : in[0]),
                               .w = buffer(wgrad ? out[0] : in[1]),
                               .y = buffer(forward ? out[0] : in[2]),
                               .bias = {},
                               .stride = shape_.stride,
                               .padding = shape_.padding,
                               .dilation = shape_.dilation,
                               .groups = shape_.groups};
    if (shape_.bias && forward) problem.bias = buffer(in[2]);
    if (shape_.bias && wgrad) problem.bias = buffer(out[1]);
    return problem;
  }

 private:
  Conv2dShape shape_;
  Pass pass_;
};

/// Positions of a call's arguments; padding and dilation follow the stride.
struct Positions {
  std::size_t image;
  std::size_t weight;
  std::size_t stride;
  std::size_t groups;
};

Conv2dShape shape_of(c10::ArrayRef<const c10::IValue> arguments, const Positions& at, bool bias) {
  const at::Tensor& image = arguments[at.image].toTensor();
  const at::Tensor& weight = arguments[at.weight].toTensor();
  return {.batch = image.size(0),
          .in_channels = image.size(1),
          .out_channels = weight.size(0),
          .image = {image.size(2), image.size(3)},
          .kernel = {weight.size(2), weight.size(3)},
          .stride = pair_argument(arguments[at.stride]),
          .padding = pair_argument(arguments[at.stride + 1]),
          .dilation = pair_argument(arguments[at.stride + 2]),
          .groups = arguments[at.groups].toInt(),
          .bias = bias};
}

/// conv2d(x, weight, bias, stride, padding, dilation, groups); convolution(x, weight, bias, stride,
/// padding, dilation, transposed, output padding, groups).
std::vector<MatchedOp> match_forward(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  const bool convolution = call.name == "aten::convolution";
  if (arguments[0].toTensor().dim() != 4) return {};
  if (convolution && arguments[6].toBool()) return {};  // transposed
  if (arguments[4].isString()) return {};               // padding "same" or "valid"
  return {matched(Pass::kForward,
                  shape_of(arguments, {0, 1, 3, convolution ? 8UL : 6UL}, given(arguments[2])))};
}

/// convolution_backward(g, x, weight, bias sizes, stride, padding, dilation, transposed, output
/// padding, groups, wanted gradients of {x, weight, bias}).
std::vector<MatchedOp> match_backward(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (arguments[1].toTensor().dim() != 4 || arguments[7].toBool()) return {};
  const auto wanted = arguments[10].toBoolList();
  std::vector<MatchedOp> made;
  if (wanted[0]) made.push_back(matched(Pass::kDgrad, shape_of(arguments, {1, 2, 4, 9}, false)));
  if (wanted[1])
    made.push_back(matched(Pass::kWgrad, shape_of(arguments, {1, 2, 4, 9}, wanted[2])));
  return made;
}

/// _convolution_double_backward(ddx, ddw, ddbias, g, weight, x, stride, padding, dilation,
/// transposed, output padding, groups, wanted gradients of {g, x, weight}). The scope has the same
/// arguments. Where ddw or ddbias are given, the convolutions inside are rows.
std::vector<MatchedOp> match_double_backward(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (arguments.size() != 13) return {};
  const auto wanted = arguments[12].toBoolList();
  if (!given(arguments[0]) || given(arguments[1]) || given(arguments[2]) || !wanted[0] ||
      !wanted[2] || arguments[0].toTensor().dim() != 4 || arguments[9].toBool()) {
    return {};
  }
  return {matched(Pass::kDoubleBackward, shape_of(arguments, {5, 4, 6, 11}, false))};
}

std::vector<MatchedOp> match_conv2d(const ObservedCall& call) {
  if (call.name == "aten::convolution_backward") return match_backward(call);
  if (call.name == "op:conv2d" || call.name == "aten::_convolution_double_backward") {
    return match_double_backward(call);
  }
  return match_forward(call);
}

}  // namespace

OpType conv2d_type() {
  return {
      .name = "conv2d",
      .op_class = OpClass::kConvolution,
      .aten = {"conv2d", "convolution", "convolution_backward", "_convolution_double_backward"},
      .passes = {Pass::kForward, Pass::kDgrad, Pass::kWgrad, Pass::kDoubleBackward},
      .examples =
          {R"({"n": 2, "c": 3, "k": 5, "image": [7, 6], "kernel": [3, 3], "padding": [1, 1], "bias": true})",
           R"({"n": 1, "c": 4, "k": 6, "image": [11, 13], "kernel": [5, 3], "groups": 2, "stride": [2, 1], "padding": [2, 0]})",
           R"({"n": 3, "c": 2, "k": 2, "image": [9, 8], "kernel": [3, 2], "stride": [2, 3], "padding": [2, 2], "dilation": [2, 3], "bias": true})",
           R"({"n": 1, "c": 1, "k": 1, "image": [1, 1], "kernel": [1, 1]})"},
      .fields = fields_of<Conv2dShape>,
      .make = make_op<Conv2d, Conv2dShape>,
      .match = match_conv2d};
}

}  // namespace fathom::ops
