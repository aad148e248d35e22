#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/upsample_nearest2d_backward.h>

#include <cmath>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/reduction/image_sizes.h"

namespace fathom::ops {
namespace {

struct UpsampleShape {
  Sizes sizes;  ///< [N, C, H, W]
  Pair output;

  void visit(Fields& fields) {
    visit_image_sizes(fields, sizes);
    fields.pair("output", output, 1);
  }

  Sizes output_sizes() const { return {sizes[0], sizes[1], output[0], output[1]}; }
};

/// Nearest-neighbour interpolation. Forward: {x} gives {y}. Backward: {x, g}, with g of the shape
/// of y, gives {dx}.
class UpsampleNearest final : public Op {
 public:
  UpsampleNearest(UpsampleShape shape, Pass pass) : shape_(std::move(shape)), pass_(pass) {}

  /// The gradient does not read x.
  Cost cost(fixtures::Precision precision) const override {
    return {.flops = 0,
            .bytes = element_bytes(precision) *
                     (elements(shape_.sizes) + elements(shape_.output_sizes()))};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{draws.normal(shape_.sizes)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(shape_.output_sizes()));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (pass_ == Pass::kForward) {
      return [x = in[0], output = shape_.output]() -> Tensors {
        return {at::upsample_nearest2d(x, output)};
      };
    }
    return [g = in[1], s = shape_]() -> Tensors {
      return {at::upsample_nearest2d_backward(g, s.output, s.sizes)};
    };
  }

  /// For other factors oneDNN rounds to other pixels.
  std::vector<Backend> backends() const override {
    const bool multiple =
        shape_.output[0] % shape_.sizes[2] == 0 && shape_.output[1] % shape_.sizes[3] == 0;
    if (!multiple) return {Backend::kTorch};
    return {Backend::kTorch, Backend::kOneDnn};
  }

  /// The gradients of a pixel's copies may nearly cancel.
  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    if (pass_ == Pass::kForward) return 1;
    return std::ceil(elements(shape_.output_sizes()) / elements(shape_.sizes));
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    UpsampleProblem problem{.x = buffer(in[0]), .y = buffer(out[0])};
    if (pass_ == Pass::kBackward) {
      problem.y = buffer(in[1]);
      problem.dx = buffer(out[0]);
    }
    return problem;
  }

 private:
  UpsampleShape shape_;
  Pass pass_;
};

/// upsample_nearest2d(x, output, scale factors): without an output, scale factors are a list.
/// upsample_nearest2d_backward(g, output, sizes).
std::vector<MatchedOp> match_upsample(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (is_gradient(call)) {
    return {matched(Pass::kBackward, UpsampleShape{.sizes = arguments[2].toIntVector(),
                                                   .output = pair_argument(arguments[1])})};
  }
  UpsampleShape shape{.sizes = arguments[0].toTensor().sizes().vec(), .output = {}};
  if (!arguments[1].isNone()) {
    shape.output = pair_argument(arguments[1]);
  } else {
    const auto factors = arguments[2].toDoubleVector();
    for (const std::size_t axis : {0U, 1U}) {
      shape.output[axis] = static_cast<int64_t>(static_cast<double>(shape.sizes[axis + 2]) *
                                                (axis == 0 ? factors.front() : factors.back()));
    }
  }
  return {matched(Pass::kForward, std::move(shape))};
}

}  // namespace

OpType upsample_nearest_type() {
  return {.name = "upsample_nearest",
          .op_class = OpClass::kReduction,
          .aten = {"upsample_nearest2d", "upsample_nearest2d_backward"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [2, 3, 5, 4], "output": [10, 8]})",
                       R"({"sizes": [1, 17, 3, 2], "output": [9, 4]})",
                       R"({"sizes": [1, 2, 5, 3], "output": [7, 8]})"},
          .fields = fields_of<UpsampleShape>,
          .make = make_op<UpsampleNearest, UpsampleShape>,
          .match = match_upsample};
}

}  // namespace fathom::ops
