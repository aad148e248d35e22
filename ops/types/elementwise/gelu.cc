// Not in the table of element-wise ops, because LibTorch has one name for both of its formulas.
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>

#include "ops/core/buffer.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct GeluShape {
  Sizes sizes;
  bool tanh;  ///< the approximation with tanh, as in GPT-2

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.flag("tanh", tanh);
  }
};

/// Gaussian error linear unit, x · Φ(x) (Hendrycks and Gimpel 2016). Forward: {x} gives {y}.
/// Backward: {g, x} gives {dx}.
class Gelu final : public Op {
 public:
  Gelu(GeluShape shape, Pass pass)
      : sizes_(std::move(shape.sizes)), tanh_(shape.tanh), backward_(pass == Pass::kBackward) {}

  Cost cost(fixtures::Precision precision) const override {
    return {.flops = 0, .bytes = (backward_ ? 3 : 2) * element_bytes(precision) * elements(sizes_)};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draw(seed);
    Tensors made{draw.normal(sizes_)};
    if (backward_) made.push_back(draw.normal(sizes_));
    return made;
  }

  Call call(const Tensors& in) const override {
    const char* formula = tanh_ ? "tanh" : "none";
    if (!backward_) return [=, x = in[0]]() -> Tensors { return {at::gelu(x, formula)}; };
    return [=, g = in[0], x = in[1]]() -> Tensors { return {at::gelu_backward(g, x, formula)}; };
  }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kOneDnn}; }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    UnaryProblem problem{
        .kind = tanh_ ? UnaryProblem::Kind::kGeluTanh : UnaryProblem::Kind::kGeluErf,
        .x = buffer(in[backward_ ? 1 : 0]),
        .y = buffer(backward_ ? in[0] : out[0])};
    if (backward_) problem.dx = buffer(out[0]);
    return problem;
  }

 private:
  Sizes sizes_;
  bool tanh_;
  bool backward_;
};

/// gelu(x, formula), gelu_backward(g, x, formula).
std::vector<MatchedOp> match_gelu(const ObservedCall& call) {
  const std::size_t x = is_gradient(call) ? 1 : 0;
  if (!is_plain(call.arguments[x])) return {};
  return {matched(call, GeluShape{.sizes = tensor_sizes(call.arguments[x].toTensor()),
                                  .tanh = call.arguments[x + 1].toStringRef() == "tanh"})};
}

}  // namespace

OpType gelu_type() {
  return {.name = "gelu",
          .op_class = OpClass::kElementwise,
          .aten = {"gelu", "gelu_", "gelu_backward"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [3, 1, 67]})", R"({"sizes": [5, 7], "tanh": true})"},
          .fields = fields_of<GeluShape>,
          .make = make_op<Gelu, GeluShape>,
          .match = match_gelu};
}

}  // namespace fathom::ops
