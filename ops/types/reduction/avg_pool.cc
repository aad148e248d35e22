#include <ATen/ops/_adaptive_avg_pool2d_backward.h>
#include <ATen/ops/adaptive_avg_pool2d.h>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/reduction/image_sizes.h"
#include "ops/types/reduction/pool_problem.h"

namespace fathom::ops {
namespace {

struct AvgPoolShape {
  Sizes sizes;  ///< [N, C, H, W]
  Pair output;

  void visit(Fields& fields) {
    visit_image_sizes(fields, sizes);
    fields.pair("output", output, 1);
  }
};

/// Adaptive average pooling. Forward: {x} gives {y}; each pixel of y is the mean of one of nearly
/// equal parts of the image. Backward: {x, g}, with g of the shape of y, gives {dx}.
class AvgPool final : public Op {
 public:
  AvgPool(AvgPoolShape shape, Pass pass)
      : sizes_(std::move(shape.sizes)), output_(shape.output), pass_(pass) {}

  Cost cost(fixtures::Precision precision) const override {
    return {.flops = 0,
            .bytes = element_bytes(precision) * (elements(sizes_) + elements(output_sizes()))};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
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
    if (output_ == Pair{1, 1}) {  // LibTorch computes a mean here; this is its gradient
      return [g, sizes = sizes_]() -> Tensors {
        return {g.expand(sizes).div(static_cast<double>(sizes[2] * sizes[3]))};
      };
    }
    return [g, x]() -> Tensors { return {at::_adaptive_avg_pool2d_backward(g, x)}; };
  }

  /// Vendors' pooling has windows of one size.
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

/// adaptive_avg_pool2d(x, output), _adaptive_avg_pool2d_backward(g, x).
std::vector<MatchedOp> match_avg_pool(const ObservedCall& call) {
  const bool backward = is_gradient(call);
  const at::Tensor& x = call.arguments[backward ? 1 : 0].toTensor();
  if (x.dim() != 4) return {};
  const Pair output =
      backward ? Pair{call.arguments[0].toTensor().size(2), call.arguments[0].toTensor().size(3)}
               : pair_argument(call.arguments[1]);
  return {matched(call, AvgPoolShape{.sizes = x.sizes().vec(), .output = output})};
}

}  // namespace

OpType avg_pool_type() {
  return {.name = "avg_pool",
          .op_class = OpClass::kReduction,
          .aten = {"adaptive_avg_pool2d", "_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [2, 3, 7, 5], "output": [1, 1]})",
                       R"({"sizes": [1, 3, 7, 5], "output": [3, 2]})"},
          .fields = fields_of<AvgPoolShape>,
          .make = make_op<AvgPool, AvgPoolShape>,
          .match = match_avg_pool};
}

}  // namespace fathom::ops
