#include <ATen/ops/_adaptive_avg_pool2d_backward.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool2d_backward.h>

#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/reduction/image_sizes.h"
#include "ops/types/reduction/pool_problem.h"

namespace fathom::ops {
namespace {

constexpr Pair kNone{0, 0};

struct AvgPoolShape {
  Sizes sizes;           ///< [N, C, H, W]
  Pair adapted = kNone;  ///< the output's height and width; kNone where the windows are given
  PoolWindows windows = {};
  bool exclude_padding = false;  ///< from the number of pixels that divides a sum

  void visit(Fields& fields) {
    visit_image_sizes(fields, sizes);
    fields.pair("output", adapted, 1, kNone);
    fields.pair("kernel", windows.kernel, 1, kNone);
    fields.pair("stride", windows.stride, 1, windows.kernel, "kernel");
    fields.pair("padding", windows.padding, 0, kNone);
    fields.flag("ceil", windows.ceil);
    fields.flag("exclude_padding", exclude_padding);
    fields.require((adapted == kNone) != (windows.kernel == kNone),
                   "expected either \"output\" or \"kernel\"");
    fields.require(!adaptive() || (windows.stride == kNone && windows.padding == kNone &&
                                   !windows.ceil && !exclude_padding),
                   "\"output\" is given, expected no \"stride\", \"padding\", \"ceil\" or "
                   "\"exclude_padding\"");
    if (!adaptive()) windows.require_fit(fields, sizes);
  }

  bool adaptive() const { return adapted != kNone; }

  Sizes output() const {
    return adaptive() ? Sizes{sizes[0], sizes[1], adapted[0], adapted[1]} : windows.output(sizes);
  }
};

Call adaptive_call(const AvgPoolShape& shape, const Tensors& in) {
  if (in.size() == 1) {
    return [x = in[0], size = shape.adapted]() -> Tensors {
      return {at::adaptive_avg_pool2d(x, size)};
    };
  }
  if (shape.adapted == Pair{1, 1}) {  // LibTorch computes a mean here; this is its gradient
    return [g = in[1], sizes = shape.sizes]() -> Tensors {
      return {g.expand(sizes).div(static_cast<double>(sizes[2] * sizes[3]))};
    };
  }
  return [x = in[0], g = in[1]]() -> Tensors { return {at::_adaptive_avg_pool2d_backward(g, x)}; };
}

Call window_call(const AvgPoolShape& shape, const Tensors& in) {
  const bool padded = !shape.exclude_padding;
  if (in.size() == 1) {
    return [s = shape.windows, padded, x = in[0]]() -> Tensors {
      return {at::avg_pool2d(x, s.kernel, s.stride, s.padding, s.ceil, padded)};
    };
  }
  return [s = shape.windows, padded, x = in[0], g = in[1]]() -> Tensors {
    return {at::avg_pool2d_backward(g, x, s.kernel, s.stride, s.padding, s.ceil, padded,
                                    /*divisor_override=*/{})};
  };
}

/// Average pooling, adaptive or over windows. Forward: {x} gives {y}; each pixel of y is the mean
/// of one of nearly equal parts of the image or of a window. Backward: {x, g}, with g of the shape
/// of y, gives {dx}.
class AvgPool final : public Op {
 public:
  AvgPool(AvgPoolShape shape, Pass pass) : shape_(std::move(shape)), pass_(pass) {}

  /// The gradient does not read x.
  Cost cost(fixtures::Precision precision) const override {
    return {
        .flops = 0,
        .bytes = element_bytes(precision) * (elements(shape_.sizes) + elements(shape_.output()))};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{draws.normal(shape_.sizes)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(shape_.output()));
    return made;
  }

  Call call(const Tensors& in) const override {
    return shape_.adaptive() ? adaptive_call(shape_, in) : window_call(shape_, in);
  }

  /// Vendors' pooling has windows of one size, and counts padding only inside the padded image.
  /// cuDNN has none that end outside.
  std::vector<Backend> backends() const override {
    const Sizes& x = shape_.sizes;
    if (shape_.adaptive() && (x[2] % shape_.adapted[0] != 0 || x[3] % shape_.adapted[1] != 0))
      return {Backend::kTorch};
    if (shape_.adaptive() || shape_.windows.end_inside(x))
      return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
    if (kind() == PoolProblem::Kind::kMean) return {Backend::kTorch, Backend::kOneDnn};
    return {Backend::kTorch};
  }

  /// The gradients from windows that share a pixel may nearly cancel.
  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    return shape_.adaptive() || pass_ == Pass::kForward ? 1 : shape_.windows.overlap();
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    if (!shape_.adaptive()) return pool_problem(in, out, kind(), shape_.windows);
    const Pair part{shape_.sizes[2] / shape_.adapted[0], shape_.sizes[3] / shape_.adapted[1]};
    return pool_problem(in, out, PoolProblem::Kind::kMean, {.kernel = part, .stride = part});
  }

 private:
  PoolProblem::Kind kind() const {
    return shape_.exclude_padding || shape_.windows.padding == kNone
               ? PoolProblem::Kind::kMean
               : PoolProblem::Kind::kPaddedMean;
  }

  AvgPoolShape shape_;
  Pass pass_;
};

/// adaptive_avg_pool2d(x, output), _adaptive_avg_pool2d_backward(g, x).
std::vector<MatchedOp> match_adaptive(const ObservedCall& call, const at::Tensor& x) {
  const Pair output = is_gradient(call) ? Pair{call.arguments[0].toTensor().size(2),
                                               call.arguments[0].toTensor().size(3)}
                                        : pair_argument(call.arguments[1]);
  return {matched(call, AvgPoolShape{.sizes = x.sizes().vec(), .adapted = output})};
}

/// avg_pool2d(x, kernel, stride, padding, ceil, count_include_pad, divisor); its gradient has g
/// before x. Returns nothing where a divisor is given: such a call is no mean.
std::vector<MatchedOp> match_avg_pool(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  const std::size_t first = is_gradient(call) ? 1 : 0;
  const at::Tensor& x = arguments[first].toTensor();
  if (x.dim() != 4) return {};
  if (call.name.find("adaptive") != std::string_view::npos) return match_adaptive(call, x);
  if (!arguments[first + 6].isNone()) return {};
  return {matched(call,
                  AvgPoolShape{.sizes = x.sizes().vec(),
                               .windows = windows_argument(arguments, first + 1, /*dilated=*/false),
                               .exclude_padding = !arguments[first + 5].toBool()})};
}

}  // namespace

OpType avg_pool_type() {
  return {
      .name = "avg_pool",
      .op_class = OpClass::kReduction,
      .aten = {"adaptive_avg_pool2d", "_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward",
               "avg_pool2d", "avg_pool2d_backward"},
      .passes = {Pass::kForward, Pass::kBackward},
      .examples =
          {R"({"sizes": [2, 3, 7, 5], "output": [1, 1]})",
           R"({"sizes": [1, 3, 7, 5], "output": [3, 2]})",
           R"({"sizes": [2, 3, 5, 7], "kernel": [3, 3], "stride": [1, 1], "padding": [1, 1]})",
           R"({"sizes": [1, 5, 8, 6], "kernel": [3, 2], "stride": [2, 2], "padding": [1, 1], "exclude_padding": true})",
           R"({"sizes": [1, 2, 6, 5], "kernel": [3, 2], "padding": [1, 0], "ceil": true})",
           R"({"sizes": [2, 16, 7, 7], "kernel": [2, 2], "ceil": true})"},
      .fields = fields_of<AvgPoolShape>,
      .make = make_op<AvgPool, AvgPoolShape>,
      .match = match_avg_pool};
}

}  // namespace fathom::ops
