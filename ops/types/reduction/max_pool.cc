#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>

#include <algorithm>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/reduction/image_sizes.h"
#include "ops/types/reduction/pool_problem.h"

namespace fathom::ops {
namespace {

struct MaxPoolShape {
  Sizes sizes;  ///< [N, C, H, W]
  PoolWindows windows;

  void visit(Fields& fields) {
    visit_image_sizes(fields, sizes);
    fields.pair("kernel", windows.kernel, 1);
    fields.pair("stride", windows.stride, 1, windows.kernel, "kernel");
    fields.pair("padding", windows.padding, 0, {0, 0});
    fields.pair("dilation", windows.dilation, 1, {1, 1});
    fields.flag("ceil", windows.ceil);
    windows.require_fit(fields, sizes);
  }

  Sizes output() const { return windows.output(sizes); }
};

/// Like normal numbers, but any two in a window differ, also in bf16: which of two equal ones gets
/// the gradient depends on the library. Pixels have the numbers 0, 1, ... cyclically over the
/// extent of a window, along both axes; x is an integer with this remainder, divided by 64. bf16
/// has the integers up to 256.
at::Tensor without_ties(const MaxPoolShape& s, RandomInputs& draws) {
  constexpr double kScale = 64;
  const auto& [kernel, stride, padding, dilation, ceil] = s.windows;
  const int64_t columns = dilation[1] * kernel[1];
  const int64_t numbers = dilation[0] * kernel[0] * columns;
  const at::Tensor row = at::arange(s.sizes[2], at::kFloat).remainder(dilation[0] * kernel[0]);
  const at::Tensor number = (row * columns).unsqueeze(1) +
                            at::arange(s.sizes[3], at::kFloat).remainder(columns).unsqueeze(0);
  const int64_t most = std::max<int64_t>(256 / numbers - 1, 0);
  const at::Tensor multiples =
      (draws.normal(s.sizes) * (kScale / static_cast<double>(numbers))).round().clamp(-most, most);
  return (multiples * numbers + number) / kScale;
}

/// Forward: {x} gives {y}; the indices of the maxima are written, too, but are not an output.
/// Backward: {x, g}, with g of the shape of y, gives {dx}.
class MaxPool final : public Op {
 public:
  MaxPool(MaxPoolShape shape, Pass pass) : shape_(std::move(shape)), pass_(pass) {}

  /// The gradient reads g and the indices, not x.
  Cost cost(fixtures::Precision precision) const override {
    const double x = elements(shape_.sizes);
    const double y = elements(shape_.output());
    return {.flops = 0, .bytes = element_bytes(precision) * (x + y) + kIndexBytes * y};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    if (pass_ == Pass::kForward) return {draws.normal(shape_.sizes)};
    const at::Tensor x = without_ties(shape_, draws);
    return {x, draws.normal(shape_.output())};
  }

  Call call(const Tensors& in) const override {
    const auto forward = [s = shape_.windows, x = in[0]] {
      return at::max_pool2d_with_indices(x, s.kernel, s.stride, s.padding, s.dilation, s.ceil);
    };
    if (pass_ == Pass::kForward) return [forward]() -> Tensors { return {std::get<0>(forward())}; };
    return
        [s = shape_.windows, x = in[0], g = in[1], indices = std::get<1>(forward())]() -> Tensors {
          return {at::max_pool2d_with_indices_backward(g, x, s.kernel, s.stride, s.padding,
                                                       s.dilation, s.ceil, indices)};
        };
  }

  /// cuDNN has no dilated windows and none that end outside the padded image.
  std::vector<Backend> backends() const override {
    const bool cudnn =
        shape_.windows.dilation == Pair{1, 1} && shape_.windows.end_inside(shape_.sizes);
    if (!cudnn) return {Backend::kTorch, Backend::kOneDnn};
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  /// The gradients from windows that share a pixel may nearly cancel.
  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    return pass_ == Pass::kForward ? 1 : shape_.windows.overlap();
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    return pool_problem(in, out, PoolProblem::Kind::kMax, shape_.windows);
  }

 private:
  MaxPoolShape shape_;
  Pass pass_;
};

/// max_pool2d(x, kernel, stride, padding, dilation, ceil); its gradient has g before x.
std::vector<MatchedOp> match_max_pool(const ObservedCall& call) {
  const std::size_t x = is_gradient(call) ? 1 : 0;
  const auto& arguments = call.arguments;
  if (arguments[x].toTensor().dim() != 4) return {};
  return {
      matched(call, MaxPoolShape{.sizes = arguments[x].toTensor().sizes().vec(),
                                 .windows = windows_argument(arguments, x + 1, /*dilated=*/true)})};
}

}  // namespace

OpType max_pool_type() {
  return {
      .name = "max_pool",
      .op_class = OpClass::kReduction,
      .aten = {"max_pool2d", "max_pool2d_with_indices", "max_pool2d_with_indices_backward"},
      .passes = {Pass::kForward, Pass::kBackward},
      .examples =
          {R"({"sizes": [2, 3, 7, 9], "kernel": [3, 3], "stride": [2, 2]})",
           R"({"sizes": [1, 5, 8, 5], "kernel": [3, 2], "stride": [2, 2], "padding": [1, 1], "ceil": true})",
           R"({"sizes": [1, 1, 6, 6], "kernel": [2, 2]})"},
      .fields = fields_of<MaxPoolShape>,
      .make = make_op<MaxPool, MaxPoolShape>,
      .match = match_max_pool};
}

}  // namespace fathom::ops
