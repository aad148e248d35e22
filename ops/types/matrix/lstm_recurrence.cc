#include "ops/kernels/recurrent/lstm_recurrence.h"

#include <ATen/core/ivalue.h>

#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct LstmRecurrenceShape {
  int64_t steps;
  int64_t n;
  int64_t width;

  void visit(Fields& fields) {
    fields.extent("steps", steps);
    fields.extent("n", n);
    fields.extent("width", width);
  }
};

/// {x [T, N, 4H], recurrent [4H, H], lengths [N]} gives {h [T, N, H], last c [N, H]}. Sequences
/// have between half and all of the steps.
std::unique_ptr<Op> make_lstm_recurrence(Fields& fields, Pass pass) {
  const auto [steps, n, width] = read_shape<LstmRecurrenceShape>(fields);
  const auto weights = elements({4, width, width});
  // The state before the first step is 0: it has no gradient, and gives the weights none.
  const int64_t products = pass == Pass::kBackward ? steps - 1 : steps;
  const double read = weights + elements({steps, n, 4, width});
  return make_composite(
      {.inputs = [steps = steps, n = n, width = width](RandomInputs& draws) -> Tensors {
         return {draws.normal({steps, n, 4 * width}), draws.weight({4 * width, width}, width),
                 draws.integers({n}, (steps + 1) / 2, steps + 1)};
       },
       .with_gradient = 2,
       .forward = [](const Tensors& in) -> Tensors {
         const auto [h, last_c] = composed_lstm_recurrence(in[0], in[1], in[2]);
         return {h, last_c};
       },
       .outputs = 2,
       .macs = elements({products, n}) * weights,
       .read = read,
       .written = elements({steps + 1, n, width}),
       .gradients = read,
       .native = [](const Tensors& in) -> Tensors {
         const auto [h, last_c] = lstm_recurrence(in[0], in[1], in[2]);
         return {h, last_c};
       },
       .native_in_steps = {fixtures::Device::kCpu, fixtures::Device::kCuda},
       .integers = static_cast<double>(n)},
      pass);
}

/// The scope's argument is x [T, N, 4H].
std::vector<MatchedOp> match_lstm_recurrence(const ObservedCall& call) {
  if (call.arguments.size() != 1) return {};
  const at::Tensor& x = call.arguments[0].toTensor();
  return {matched(Pass::kForward,
                  LstmRecurrenceShape{.steps = x.size(0), .n = x.size(1), .width = x.size(2) / 4})};
}

}  // namespace

OpType lstm_recurrence_type() {
  return {
      .name = "lstm_recurrence",
      .op_class = OpClass::kMatrix,
      .passes = {Pass::kForward, Pass::kBackward},
      .examples = {R"({"steps": 5, "n": 3, "width": 4})", R"({"steps": 1, "n": 2, "width": 3})"},
      .fields = fields_of<LstmRecurrenceShape>,
      .make = make_lstm_recurrence,
      .match = match_lstm_recurrence};
}

}  // namespace fathom::ops
