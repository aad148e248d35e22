#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/softmax.h>
#include <c10/util/accumulate.h>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"

namespace fathom::ops {
namespace {

struct SoftmaxShape {
  Sizes sizes;  ///< [outer, classes] or [outer, classes, inner]

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.require(sizes.size() == 2 || sizes.size() == 3,
                   "\"sizes\" are not [outer, classes] or [outer, classes, inner]");
  }
};

/// Softmax over the second dimension of x [outer, classes] or [outer, classes, inner]. Forward: {x}
/// gives {y}. Backward: {x, g}, with g of the shape of y, gives {dx}.
class Softmax final : public Op {
 public:
  Softmax(SoftmaxShape shape, Pass pass) : sizes_(std::move(shape.sizes)), pass_(pass) {}

  /// The gradient reads y and g, not x.
  Cost cost(fixtures::Precision precision) const override {
    const auto elements = static_cast<double>(c10::multiply_integers(sizes_));
    return {.flops = 0,
            .bytes = (pass_ == Pass::kForward ? 2 : 3) * element_bytes(precision) * elements};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{draws.normal(sizes_)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(sizes_));
    return made;
  }

  Call call(const Tensors& in) const override {
    const at::Tensor& x = in[0];
    if (pass_ == Pass::kForward) return [x]() -> Tensors { return {at::softmax(x, 1)}; };
    return [y = at::softmax(x, 1), g = in[1]]() -> Tensors {
      return {at::_softmax_backward_data(g, y, 1, y.scalar_type())};
    };
  }

  std::vector<Backend> backends() const override {
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    SoftmaxProblem problem{.x = buffer(in[0]), .y = buffer(out[0]), .axis = 1};
    if (pass_ == Pass::kBackward) {
      problem.y = buffer(in[1]);
      problem.dx = buffer(out[0]);
    }
    return problem;
  }

 private:
  Sizes sizes_;
  Pass pass_;
};

/// softmax(x, dim), _softmax_backward_data(g, y, dim).
std::vector<MatchedOp> match_softmax(const ObservedCall& call) {
  const int64_t axis = call.arguments[is_gradient(call) ? 2 : 1].toInt();
  return {matched(call, SoftmaxShape{around(call.arguments[0].toTensor().sizes(), axis)})};
}

}  // namespace

OpType softmax_type() {
  return {.name = "softmax",
          .op_class = OpClass::kReduction,
          .aten = {"softmax", "_softmax", "_softmax_backward_data"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [3, 7]})", R"({"sizes": [2, 5, 3]})"},
          .fields = fields_of<SoftmaxShape>,
          .make = make_op<Softmax, SoftmaxShape>,
          .match = match_softmax};
}

}  // namespace fathom::ops
