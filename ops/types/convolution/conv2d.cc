#include "ops/types/convolution/conv2d.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

int64_t output_extent(const Conv2dShape& shape, std::size_t axis) {
  const int64_t reach = shape.dilation[axis] * (shape.kernel[axis] - 1) + 1;
  return (shape.image[axis] + 2 * shape.padding[axis] - reach) / shape.stride[axis] + 1;
}

/// Pairs of output position and tap along one axis whose tap lies inside the image.
int64_t inside_taps(const Conv2dShape& shape, std::size_t axis) {
  int64_t taps = 0;
  for (int64_t out = 0; out < output_extent(shape, axis); ++out) {
    for (int64_t tap = 0; tap < shape.kernel[axis]; ++tap) {
      const int64_t in =
          out * shape.stride[axis] - shape.padding[axis] + tap * shape.dilation[axis];
      taps += in >= 0 && in < shape.image[axis] ? 1 : 0;
    }
  }
  return taps;
}

/// Products of one tap position: every image and every connected pair of channels.
double channel_products(const Conv2dShape& shape) {
  return static_cast<double>(shape.batch * shape.out_channels * shape.in_channels) /
         static_cast<double>(shape.groups);
}

/// x [N, C, H, W] and weight [K, C / groups, R, S], then a bias [K] where there is one, give
/// y [N, K, P, Q]. Gradients have inputs {x, weight, g} with g like y; dgrad gives {dx}, wgrad {dw}
/// or {dw, dbias}.
class Conv2d final : public Op {
 public:
  Conv2d(const Conv2dShape& shape, bool bias, Pass pass)
      : shape_(shape), bias_(bias), pass_(pass) {}

  Cost cost(fixtures::Precision precision) const override {
    const auto [height, width] = conv2d_output(shape_);
    const double x = elements({shape_.batch, shape_.in_channels, shape_.image[0], shape_.image[1]});
    const double w = elements(weight_sizes());
    const double y = elements({shape_.batch, shape_.out_channels, height, width});
    // Each pass reads two of the three and writes the third; dgrad has nothing to do with a bias.
    const double b =
        bias_ && pass_ != Pass::kDgrad ? static_cast<double>(shape_.out_channels) : 0.0;
    return {.flops = conv2d_flops(shape_), .bytes = element_bytes(precision) * (x + w + y + b)};
  }

  Tensors inputs(uint64_t seed) const override {
    Draws draws(seed);
    const auto [height, width] = conv2d_output(shape_);
    const auto weights = weight_sizes();
    Tensors made{draws.normal({shape_.batch, shape_.in_channels, shape_.image[0], shape_.image[1]}),
                 draws.weight(weights, weights[1] * weights[2] * weights[3])};
    if (pass_ != Pass::kForward) {
      made.push_back(draws.normal({shape_.batch, shape_.out_channels, height, width}));
    } else if (bias_) {
      made.push_back(draws.normal({shape_.out_channels}));
    }
    return made;
  }

  Call call(const Tensors& in) const override {
    const Conv2dShape& s = shape_;
    if (pass_ == Pass::kForward) {
      return [s, x = in[0], w = in[1], b = bias_ ? in[2] : at::Tensor()]() -> Tensors {
        return {at::conv2d(x, w, b, s.stride, s.padding, s.dilation, s.groups)};
      };
    }
    const std::array<bool, 3> wanted{pass_ == Pass::kDgrad, pass_ == Pass::kWgrad,
                                     pass_ == Pass::kWgrad && bias_};
    return [s, wanted, x = in[0], w = in[1], g = in[2]] {
      const std::vector<int64_t> bias{s.out_channels};
      const auto [dx, dw, db] = at::convolution_backward(
          g, x, w, wanted[2] ? at::OptionalIntArrayRef(bias) : std::nullopt, s.stride, s.padding,
          s.dilation, /*transposed=*/false, /*output_padding=*/{0, 0}, s.groups, wanted);
      if (wanted[0]) return Tensors{dx};
      return wanted[2] ? Tensors{dw, db} : Tensors{dw};
    };
  }

  std::vector<Backend> backends() const override {
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
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
    if (bias_ && forward) problem.bias = buffer(in[2]);
    if (bias_ && wgrad) problem.bias = buffer(out[1]);
    return problem;
  }

 private:
  std::array<int64_t, 4> weight_sizes() const {
    return {shape_.out_channels, shape_.in_channels / shape_.groups, shape_.kernel[0],
            shape_.kernel[1]};
  }

  Conv2dShape shape_;
  bool bias_;
  Pass pass_;
};

nlohmann::ordered_json fields_of(const Conv2dShape& shape) {
  using Pair = std::array<int64_t, 2>;
  nlohmann::ordered_json fields{{"n", shape.batch},
                                {"c", shape.in_channels},
                                {"k", shape.out_channels},
                                {"image", shape.image},
                                {"kernel", shape.kernel}};
  put_unless(fields, "stride", shape.stride, Pair{1, 1});
  put_unless(fields, "padding", shape.padding, Pair{0, 0});
  put_unless(fields, "dilation", shape.dilation, Pair{1, 1});
  put_unless(fields, "groups", shape.groups, int64_t{1});
  return fields;
}

}  // namespace

std::array<int64_t, 2> conv2d_output(const Conv2dShape& shape) {
  return {output_extent(shape, 0), output_extent(shape, 1)};
}

double conv2d_flops(const Conv2dShape& shape) {
  return 2 * channel_products(shape) *
         static_cast<double>(inside_taps(shape, 0) * inside_taps(shape, 1));
}

double conv2d_macs(const Conv2dShape& shape) {
  const int64_t outputs = output_extent(shape, 0) * output_extent(shape, 1);
  return channel_products(shape) * static_cast<double>(outputs * shape.kernel[0] * shape.kernel[1]);
}

std::unique_ptr<Op> make_conv2d(Fields& fields, Pass pass) {
  const Conv2dShape shape{.batch = fields.extent("n"),
                          .in_channels = fields.extent("c"),
                          .out_channels = fields.extent("k"),
                          .groups = fields.extent("groups", 1),
                          .image = fields.pair("image", 1),
                          .kernel = fields.pair("kernel", 1),
                          .stride = fields.pair("stride", 1, {1, 1}),
                          .padding = fields.pair("padding", 0, {0, 0}),
                          .dilation = fields.pair("dilation", 1, {1, 1})};
  if (shape.in_channels % shape.groups != 0 || shape.out_channels % shape.groups != 0)
    fields.fail("\"groups\" is " + std::to_string(shape.groups) +
                ", expected a divisor of c and k");
  for (const std::size_t axis : {0U, 1U}) {
    const int64_t reach = shape.dilation[axis] * (shape.kernel[axis] - 1) + 1;
    if (reach > shape.image[axis] + 2 * shape.padding[axis])
      fields.fail("\"kernel\" is larger than the padded image");
  }
  return std::make_unique<Conv2d>(shape, fields.flag("bias"), pass);
}

std::vector<SeenOp> recognise_conv2d(const Seen& seen) {
  const bool backward = seen.name == "aten::convolution_backward";
  const bool convolution = seen.name == "aten::convolution";
  if (!backward && !convolution && seen.name != "aten::conv2d") return {};
  if (seen.arguments[backward ? 1 : 0].toTensor().dim() != 4) return {};
  if (!backward) {
    if (convolution && seen.arguments[6].toBool()) return {};  // transposed
    if (seen.arguments[4].isString()) return {};               // padding "same" or "valid"
    auto fields = fields_of(seen_conv2d(seen.arguments, 0, 3, convolution ? 8 : 6));
    if (given(seen.arguments[2])) fields["bias"] = true;
    return {{Pass::kForward, fields}};
  }
  if (seen.arguments[7].toBool()) return {};
  const auto wanted = seen.arguments[10].toBoolList();  // gradients to input, weight, bias
  const auto fields = fields_of(seen_conv2d(seen.arguments, 1, 4, 9));
  std::vector<SeenOp> made;
  if (wanted[0]) made.push_back({Pass::kDgrad, fields});
  if (wanted[1]) {
    made.push_back({Pass::kWgrad, fields});
    if (wanted[2]) made.back().fields["bias"] = true;
  }
  return made;
}

}  // namespace fathom::ops
