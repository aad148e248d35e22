#include "ops/kernels/add_layer_norm.h"

#include <ATen/core/ivalue.h>

#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

constexpr double kEpsilon = 1e-5;

struct AddLayerNormShape {
  Sizes sizes;  ///< the rows of the last dimension are normalised

  void visit(Fields& fields) { fields.sizes("sizes", sizes); }
};

/// {x, update, weight [W], bias [W]} gives {sum, normalised}, with x and update [..., W].
std::unique_ptr<Op> make_add_layer_norm(Fields& fields, Pass pass) {
  const auto [sizes] = read_shape<AddLayerNormShape>(fields);
  const double x = elements(sizes);
  const int64_t width = sizes.back();
  const auto both = static_cast<double>(2 * width);  // weight and bias
  const double statistics = 2 * x / static_cast<double>(width);
  return make_composite(
      {.inputs = [sizes = sizes, width](RandomInputs& draws) -> Tensors {
         return {draws.normal(sizes), draws.normal(sizes), draws.normal({width}, 0.1).add_(1),
                 draws.normal({width}, 0.1)};
       },
       .with_gradient = 4,
       .forward = [](const Tensors& in) -> Tensors {
         const auto [sum, normalised] = add_layer_norm(in[0], in[1], in[2], in[3], kEpsilon);
         return {sum, normalised};
       },
       .outputs = 2,
       .macs = 0,
       .read = 2 * x + both,
       .written = 2 * x + statistics,
       .gradients = x + both,  // x and update have the same one
       // The sum, both gradients, the weight.
       .backward_read = 3 * x + static_cast<double>(width) + statistics,
       .native = [](const Tensors& in) -> Tensors {
         const auto [sum, normalised] = fused_add_layer_norm(in[0], in[1], in[2], in[3], kEpsilon);
         return {sum, normalised};
       },
       .native_on = {fixtures::Device::kCpu},
       .native_in_steps = {fixtures::Device::kCpu}},
      pass);
}

/// The scope's argument is {x [..., W]}.
std::vector<MatchedOp> match_add_layer_norm(const ObservedCall& call) {
  if (call.arguments.size() != 1) return {};
  return {matched(Pass::kForward,
                  AddLayerNormShape{.sizes = call.arguments[0].toTensor().sizes().vec()})};
}

}  // namespace

OpType add_layer_norm_type() {
  return {.name = "add_layer_norm",
          .op_class = OpClass::kReduction,
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [5, 17]})", R"({"sizes": [2, 3, 70]})"},
          .fields = fields_of<AddLayerNormShape>,
          .make = make_add_layer_norm,
          .match = match_add_layer_norm};
}

}  // namespace fathom::ops
