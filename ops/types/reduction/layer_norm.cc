#include <ATen/ops/layer_norm.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/reduction/composed_norm.h"

namespace fathom::ops {
namespace {

constexpr double kEpsilon = 1e-5;

struct LayerNormShape {
  Sizes sizes;
  int64_t normalized = 1;  ///< number of the last dimensions that share a mean and a variance

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.extent("normalized", normalized, 1);
    fields.require(normalized <= std::ssize(sizes),
                   "\"normalized\" is more than the dimensions of \"sizes\"");
  }
};

/// Layer normalization: with the mean and variance of each row, where a row has the last dimensions
/// of x. Forward: {x, weight, bias}, the last two of a row's sizes, gives {y}. Backward: {x,
/// weight, bias, g}, with g of the shape of x, gives {dx, dweight, dbias}.
class LayerNorm final : public Op {
 public:
  LayerNorm(LayerNormShape shape, Pass pass)
      : sizes_(std::move(shape.sizes)),
        row_(sizes_.end() - shape.normalized, sizes_.end()),
        pass_(pass) {}

  Cost cost(fixtures::Precision precision) const override {
    const double x = elements(sizes_);
    const double row = elements(row_);
    const double statistics = 2 * x / row;
    // x, weight, bias -> y, means and deviations; g, x, weight and both -> dx, dweight, dbias.
    const double touched = pass_ == Pass::kForward ? 2 * x + 2 * row : 3 * x + 3 * row;
    return {.flops = 0, .bytes = element_bytes(precision) * (touched + statistics)};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{draws.normal(sizes_), draws.normal(row_, 0.1).add_(1), draws.normal(row_, 0.1)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(sizes_));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (ComposedNorm::applies(in[0])) return [this, in] { return composed(in); };
    if (pass_ == Pass::kForward) {
      return [row = row_, x = in[0], weight = in[1], bias = in[2]]() -> Tensors {
        return {at::layer_norm(x, row, weight, bias, kEpsilon)};
      };
    }
    const auto [y, found_mean, found_scale] =
        at::native_layer_norm(in[0], row_, in[1], in[2], kEpsilon);
    return [row = row_, x = in[0], weight = in[1], bias = in[2], g = in[3], mean = found_mean,
            scale = found_scale]() -> Tensors {
      const auto [dx, dweight, dbias] =
          at::native_layer_norm_backward(g, x, row, mean, scale, weight, bias, {true, true, true});
      return {dx, dweight, dbias};
    };
  }

  /// Sums over a row and over the rows may nearly cancel.
  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    return pass_ == Pass::kForward ? 1 : 4;
  }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kOneDnn}; }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    const int64_t width = in[1].numel();
    const auto rows = [&](const at::Tensor& tensor) { return buffer(tensor.view({-1, width})); };
    const auto row = [](const at::Tensor& tensor) { return buffer(tensor.flatten()); };
    LayerNormProblem problem{.x = rows(in[0]),
                             .weight = row(in[1]),
                             .bias = row(in[2]),
                             .y = rows(out[0]),
                             .epsilon = kEpsilon};
    if (pass_ == Pass::kBackward) {
      problem.y = rows(in[3]);
      problem.gradients = {.x = rows(out[0]), .weight = row(out[1]), .bias = row(out[2])};
    }
    return problem;
  }

 private:
  Tensors composed(const Tensors& in) const {
    const auto rows = [&](const at::Tensor& tensor) { return tensor.reshape({-1, in[1].numel()}); };
    const ComposedNorm norm(rows(in[0]), kEpsilon);
    if (pass_ == Pass::kForward)
      return {(norm.normalized() * rows(in[1]) + rows(in[2])).view(sizes_)};
    const at::Tensor g = rows(in[3]);
    return {norm.gradient(g * rows(in[1])).view(sizes_), (g * norm.normalized()).sum(0).view(row_),
            g.sum(0).view(row_)};
  }

  Sizes sizes_;
  Sizes row_;  ///< its last dimensions
  Pass pass_;
};

/// layer_norm and native_layer_norm(x, row, weight, bias, ...),
/// native_layer_norm_backward(g, x, row, mean, scale, weight, bias, ...).
std::vector<MatchedOp> match_layer_norm(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  const bool backward = is_gradient(call);
  const std::size_t x = backward ? 1 : 0;
  const std::size_t weight = backward ? 5 : 2;
  if (!given(arguments[weight]) || !given(arguments[weight + 1])) return {};
  return {matched(call, LayerNormShape{.sizes = arguments[x].toTensor().sizes().vec(),
                                       .normalized = std::ssize(arguments[x + 1].toIntVector())})};
}

}  // namespace

OpType layer_norm_type() {
  return {.name = "layer_norm",
          .op_class = OpClass::kReduction,
          .aten = {"layer_norm", "native_layer_norm", "native_layer_norm_backward"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [5, 17]})", R"({"sizes": [2, 3, 16]})",
                       R"({"sizes": [3, 5, 7], "normalized": 2})"},
          .fields = fields_of<LayerNormShape>,
          .make = make_op<LayerNorm, LayerNormShape>,
          .match = match_layer_norm};
}

}  // namespace fathom::ops
