#include "ops/kernels/add_norm.h"

#include <ATen/core/ivalue.h>

#include "ops/core/call_args.h"
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

struct RmsNormShape {
  Sizes sizes;  ///< the rows of the last dimension are normalised
  bool add;     ///< sums x and an update first

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.flag("add", add);
  }
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

/// {x, weight [W]} gives {normalised}; {x, update, weight} gives {sum, normalised}.
std::unique_ptr<Op> make_rms_norm(Fields& fields, Pass pass) {
  const auto [sizes, add] = read_shape<RmsNormShape>(fields);
  const double x = elements(sizes);
  const int64_t width = sizes.back();
  const double states = add ? 2 : 1;
  const double scales = x / static_cast<double>(width);
  const auto results = [add = add](auto* norm, const Tensors& in) -> Tensors {
    const auto [sum, normalised] = norm(in[0], add ? in[1] : at::Tensor(), in.back(), kEpsilon);
    return add ? Tensors{sum, normalised} : Tensors{normalised};
  };
  return make_composite(
      {.inputs = [sizes = sizes, add = add, width](RandomInputs& draws) -> Tensors {
         Tensors made{draws.normal(sizes)};
         if (add) made.push_back(draws.normal(sizes));
         made.push_back(draws.normal({width}, 0.1).add_(1));
         return made;
       },
       .with_gradient = add ? 3U : 2U,
       .forward = [results](const Tensors& in) { return results(rms_norm, in); },
       .outputs = add ? 2U : 1U,
       .macs = 0,
       .read = states* x + static_cast<double>(width),
       .written = states* x + scales,
       .gradients = x + static_cast<double>(width),  // x and update have the same one
       // The sum or x, the gradients of the results, the weight.
       .backward_read = (states + 1) * x + static_cast<double>(width) + scales,
       .native = [results](const Tensors& in) { return results(fused_rms_norm, in); },
       .native_on = {fixtures::Device::kCpu}},
      pass);
}

/// The scope's arguments are {x [..., W], whether it adds}; LibTorch's are (x, row, weight,
/// epsilon).
std::vector<MatchedOp> match_rms_norm(const ObservedCall& call) {
  RmsNormShape shape{.sizes = call.arguments[0].toTensor().sizes().vec(), .add = false};
  if (call.name.starts_with("aten::")) {
    if (call.arguments[1].toIntVector().size() != 1 || !given(call.arguments[2])) return {};
  } else {
    shape.add = call.arguments[1].toBool();
  }
  return {matched(Pass::kForward, std::move(shape))};
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

OpType rms_norm_type() {
  return {.name = "rms_norm",
          .op_class = OpClass::kReduction,
          .aten = {"rms_norm"},
          .composed_gradient = true,
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [5, 17], "add": true})", R"({"sizes": [2, 3, 70]})"},
          .fields = fields_of<RmsNormShape>,
          .make = make_rms_norm,
          .match = match_rms_norm};
}

}  // namespace fathom::ops
