#include <ATen/ops/_adaptive_avg_pool2d_backward.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>
#include <c10/util/accumulate.h>

#include <cmath>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/random_inputs.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

using Pair = std::array<int64_t, 2>;
using Sizes = std::vector<int64_t>;  ///< [N, C, H, W]

double elements(const Sizes& sizes) { return static_cast<double>(c10::multiply_integers(sizes)); }

/// Of x [N, C, H, W].
struct MaxPoolShape {
  Sizes sizes;
  Pair kernel;
  Pair stride;
  Pair padding;
  Pair dilation;
  bool ceil;  ///< a last window may reach over the padded image's end

  /// One extent of y, as LibTorch rounds it.
  int64_t output(std::size_t axis) const {
    const int64_t room = sizes[axis + 2] + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1);
    const int64_t steps = room - 1 + (ceil ? stride[axis] - 1 : 0);
    const int64_t extent = steps / stride[axis] + 1;
    // The last window starts inside the image or its left padding.
    return ceil && (extent - 1) * stride[axis] >= sizes[axis + 2] + padding[axis] ? extent - 1
                                                                                  : extent;
  }
  Sizes output() const { return {sizes[0], sizes[1], output(0), output(1)}; }
};

PoolProblem pool_problem(const Tensors& in, const Tensors& out, PoolProblem problem) {
  const bool backward = in.size() > 1;
  problem.x = buffer(in[0]);
  problem.y = buffer(backward ? in[1] : out[0]);
  if (backward) problem.dx = buffer(out[0]);
  return problem;
}

/// {x} gives {y}, and the places of its elements in their images, which are no output; {x, g} with
/// g like y gives {dx}.
class MaxPool final : public Op {
 public:
  MaxPool(MaxPoolShape shape, Pass pass) : shape_(std::move(shape)), pass_(pass) {}

  /// A gradient reads g and the places, not x.
  Cost cost(fixtures::Precision precision) const override {
    const double x = elements(shape_.sizes);
    const double y = elements(shape_.output());
    return {.flops = 0, .bytes = element_bytes(precision) * (x + y) + kIndexBytes * y};
  }

  Tensors inputs(uint64_t seed) const override {
    Draws draws(seed);
    Tensors made{draws.normal(shape_.sizes)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(shape_.output()));
    return made;
  }

  Call call(const Tensors& in) const override {
    const auto forward = [s = shape_, x = in[0]] {
      return at::max_pool2d_with_indices(x, s.kernel, s.stride, s.padding, s.dilation, s.ceil);
    };
    if (pass_ == Pass::kForward) return [forward]() -> Tensors { return {std::get<0>(forward())}; };
    return [s = shape_, x = in[0], g = in[1], places = std::get<1>(forward())]() -> Tensors {
      return {at::max_pool2d_with_indices_backward(g, x, s.kernel, s.stride, s.padding, s.dilation,
                                                   s.ceil, places)};
    };
  }

  /// cuDNN's windows are dense and end inside the padded image.
  std::vector<Backend> backends() const override {
    bool cudnn = true;
    for (const std::size_t axis : {0U, 1U}) {
      const int64_t end = (shape_.output(axis) - 1) * shape_.stride[axis] + shape_.kernel[axis];
      cudnn = cudnn && shape_.dilation[axis] == 1 &&
              end <= shape_.sizes[axis + 2] + 2 * shape_.padding[axis];
    }
    if (!cudnn) return {Backend::kTorch, Backend::kOneDnn};
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  /// A pixel's gradients from the windows that share it may all but cancel.
  double slack(fixtures::Precision /*precision*/) const override {
    if (pass_ == Pass::kForward) return 1;
    double shared = 1;
    for (const std::size_t axis : {0U, 1U})
      shared *= std::ceil(static_cast<double>(shape_.kernel[axis]) /
                          static_cast<double>(shape_.stride[axis]));
    return shared;
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    return pool_problem(in, out,
                        {.kind = PoolProblem::Kind::kMax,
                         .x = {},
                         .y = {},
                         .kernel = shape_.kernel,
                         .stride = shape_.stride,
                         .padding = shape_.padding,
                         .dilation = shape_.dilation});
  }

 private:
  MaxPoolShape shape_;
  Pass pass_;
};

/// {x} gives {y}, whose pixels are means of as even parts of the image as can be; {x, g} with g
/// like y gives {dx}.
class AvgPool final : public Op {
 public:
  AvgPool(Sizes sizes, const Pair& output, Pass pass)
      : sizes_(std::move(sizes)), output_(output), pass_(pass) {}

  Cost cost(fixtures::Precision precision) const override {
    return {.flops = 0,
            .bytes = element_bytes(precision) * (elements(sizes_) + elements(output_sizes()))};
  }

  Tensors inputs(uint64_t seed) const override {
    Draws draws(seed);
    Tensors made{draws.normal(sizes_)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(output_sizes()));
    return made;
  }

  Call call(const Tensors& in) const override {
    const at::Tensor& x = in[0];
    if (pass_ == Pass::kForward) {
      return [x, size = output_]() -> Tensors { return {at::adaptive_avg_pool2d(x, size)}; };
    }
    const at::Tensor& g = in[1];
    if (output_ == Pair{1, 1}) {  // for LibTorch a mean, whose gradient is this
      return [g, sizes = sizes_]() -> Tensors {
        return {g.expand(sizes).div(static_cast<double>(sizes[2] * sizes[3]))};
      };
    }
    return [g, x]() -> Tensors { return {at::_adaptive_avg_pool2d_backward(g, x)}; };
  }

  /// Libraries have windows of one size.
  std::vector<Backend> backends() const override {
    if (sizes_[2] % output_[0] != 0 || sizes_[3] % output_[1] != 0) return {Backend::kTorch};
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    const Pair window{sizes_[2] / output_[0], sizes_[3] / output_[1]};
    return pool_problem(in, out,
                        {.kind = PoolProblem::Kind::kMean,
                         .x = {},
                         .y = {},
                         .kernel = window,
                         .stride = window,
                         .padding = {0, 0},
                         .dilation = {1, 1}});
  }

 private:
  Sizes output_sizes() const { return {sizes_[0], sizes_[1], output_[0], output_[1]}; }

  Sizes sizes_;
  Pair output_;
  Pass pass_;
};

Sizes image_sizes(Fields& fields) {
  auto sizes = fields.sizes("sizes");
  if (sizes.size() != 4) fields.fail("\"sizes\" are not four, expected [N, C, H, W]");
  return sizes;
}

}  // namespace

std::unique_ptr<Op> make_max_pool(Fields& fields, Pass pass) {
  const Pair kernel = fields.pair("kernel", 1);
  MaxPoolShape shape{.sizes = image_sizes(fields),
                     .kernel = kernel,
                     .stride = fields.pair("stride", 1, kernel),
                     .padding = fields.pair("padding", 0, {0, 0}),
                     .dilation = fields.pair("dilation", 1, {1, 1}),
                     .ceil = fields.flag("ceil")};
  for (const std::size_t axis : {0U, 1U}) {
    if (shape.padding[axis] > kernel[axis] / 2)
      fields.fail("\"padding\" is more than half of the kernel");
    if (shape.dilation[axis] * (kernel[axis] - 1) >=
        shape.sizes[axis + 2] + 2 * shape.padding[axis])
      fields.fail("\"kernel\" is larger than the padded image");
  }
  return std::make_unique<MaxPool>(std::move(shape), pass);
}

std::vector<SeenOp> recognise_max_pool(const Seen& seen) {
  const bool backward = seen.name == "aten::max_pool2d_with_indices_backward";
  if (!backward && seen.name != "aten::max_pool2d" && seen.name != "aten::max_pool2d_with_indices")
    return {};
  const std::size_t x = backward ? 1 : 0;
  const auto& arguments = seen.arguments;
  if (arguments[x].toTensor().dim() != 4) return {};
  const Pair kernel = seen_pair(arguments[x + 1]);
  nlohmann::ordered_json fields{{"sizes", arguments[x].toTensor().sizes().vec()},
                                {"kernel", kernel}};
  put_unless(fields, "stride", seen_pair(arguments[x + 2], kernel), kernel);
  put_unless(fields, "padding", seen_pair(arguments[x + 3]), Pair{0, 0});
  put_unless(fields, "dilation", seen_pair(arguments[x + 4]), Pair{1, 1});
  put_unless(fields, "ceil", arguments[x + 5].toBool(), false);
  return {{backward ? Pass::kBackward : Pass::kForward, fields}};
}

std::unique_ptr<Op> make_avg_pool(Fields& fields, Pass pass) {
  auto sizes = image_sizes(fields);
  return std::make_unique<AvgPool>(std::move(sizes), fields.pair("output", 1), pass);
}

std::vector<SeenOp> recognise_avg_pool(const Seen& seen) {
  const bool backward = seen.name == "aten::_adaptive_avg_pool2d_backward";
  if (!backward && seen.name != "aten::adaptive_avg_pool2d" &&
      seen.name != "aten::_adaptive_avg_pool2d")
    return {};
  const at::Tensor& x = seen.arguments[backward ? 1 : 0].toTensor();
  if (x.dim() != 4) return {};
  const Pair output =
      backward ? Pair{seen.arguments[0].toTensor().size(2), seen.arguments[0].toTensor().size(3)}
               : seen_pair(seen.arguments[1]);
  return {{backward ? Pass::kBackward : Pass::kForward,
           {{"sizes", x.sizes().vec()}, {"output", output}}}};
}

}  // namespace fathom::ops
