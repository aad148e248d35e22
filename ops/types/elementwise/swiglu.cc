#include "ops/kernels/swiglu.h"

#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct SwigluShape {
  Sizes sizes;  ///< of the gate, and of what it multiplies

  void visit(Fields& fields) { fields.sizes("sizes", sizes); }
};

/// {gate, up} gives {silu(gate) · up}.
std::unique_ptr<Op> make_swiglu(Fields& fields, Pass pass) {
  const auto [sizes] = read_shape<SwigluShape>(fields);
  const double x = elements(sizes);
  return make_composite(
      {.inputs = [sizes = sizes](RandomInputs& draws) -> Tensors {
         return {draws.normal(sizes), draws.normal(sizes)};
       },
       .with_gradient = 2,
       .forward = [](const Tensors& in) -> Tensors { return {swiglu(in[0], in[1])}; },
       .outputs = 1,
       .macs = 0,
       .read = 2 * x,
       .written = x,
       .gradients = 2 * x,
       .native = [](const Tensors& in) -> Tensors { return {fused_swiglu(in[0], in[1])}; },
       .native_on = {fixtures::Device::kCpu}},
      pass);
}

/// The scope's argument is {gate}.
std::vector<MatchedOp> match_swiglu(const ObservedCall& call) {
  return {
      matched(Pass::kForward, SwigluShape{.sizes = call.arguments[0].toTensor().sizes().vec()})};
}

}  // namespace

OpType swiglu_type() {
  return {.name = "swiglu",
          .op_class = OpClass::kElementwise,
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [5, 67]})", R"({"sizes": [2, 3, 16]})"},
          .fields = fields_of<SwigluShape>,
          .make = make_swiglu,
          .match = match_swiglu};
}

}  // namespace fathom::ops
