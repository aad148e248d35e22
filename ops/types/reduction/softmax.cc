#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/softmax.h>
#include <c10/util/accumulate.h>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

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

/// LibTorch's functions of a member of the family.
struct Functions {
  bool log;
  at::Tensor (*forward)(const at::Tensor& x);
  at::Tensor (*backward)(const at::Tensor& g, const at::Tensor& y);
};

constexpr Functions kSoftmax{.log = false,
                             .forward = [](const at::Tensor& x) { return at::softmax(x, 1); },
                             .backward =
                                 [](const at::Tensor& g, const at::Tensor& y) {
                                   return at::_softmax_backward_data(g, y, 1, y.scalar_type());
                                 }};
constexpr Functions kLogSoftmax{
    .log = true,
    .forward = [](const at::Tensor& x) { return at::log_softmax(x, 1); },
    .backward =
        [](const at::Tensor& g, const at::Tensor& y) {
          return at::_log_softmax_backward_data(g, y, 1, y.scalar_type());
        }};

/// Softmax, or its logarithm, over the second dimension of x [outer, classes] or [outer, classes,
/// inner]. Forward: {x} gives {y}. Backward: {x, g}, with g of the shape of y, gives {dx}.
class Softmax final : public Op {
 public:
  Softmax(const Functions& functions, SoftmaxShape shape, Pass pass)
      : functions_(functions), sizes_(std::move(shape.sizes)), pass_(pass) {}

  /// The gradient reads y and g, not x.
  Cost cost(fixtures::Precision precision) const override {
    const double x = elements(sizes_);
    return {.flops = 0, .bytes = (pass_ == Pass::kForward ? 2 : 3) * element_bytes(precision) * x};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{draws.normal(sizes_)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(sizes_));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (pass_ == Pass::kForward) {
      return [this, x = in[0]]() -> Tensors { return {functions_.forward(x)}; };
    }
    return [this, y = functions_.forward(in[0]), g = in[1]]() -> Tensors {
      return {functions_.backward(g, y)};
    };
  }

  std::vector<Backend> backends() const override {
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    SoftmaxProblem problem{
        .log = functions_.log, .x = buffer(in[0]), .y = buffer(out[0]), .axis = 1};
    if (pass_ == Pass::kBackward) {
      problem.y = buffer(in[1]);
      problem.dx = buffer(out[0]);
    }
    return problem;
  }

 private:
  const Functions& functions_;
  Sizes sizes_;
  Pass pass_;
};

/// softmax(x, dim), _softmax_backward_data(g, y, dim), and the same for log_softmax.
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
          .make = make_member<Softmax>(kSoftmax, SoftmaxShape{}),
          .match = match_softmax};
}

OpType log_softmax_type() {
  return {.name = "log_softmax",
          .op_class = OpClass::kReduction,
          .aten = {"log_softmax", "_log_softmax", "_log_softmax_backward_data"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [3, 7]})", R"({"sizes": [2, 5, 3]})"},
          .fields = fields_of<SoftmaxShape>,
          .make = make_member<Softmax>(kLogSoftmax, SoftmaxShape{}),
          .match = match_softmax};
}

}  // namespace fathom::ops
