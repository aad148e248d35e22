#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/where.h>

#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct WhereShape {
  Sizes sizes;
  Sizes mask;   ///< extents of the mask, which is broadcast to `sizes`
  bool number;  ///< the elements where the mask is false are one number

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.sizes("mask", mask, sizes, "sizes");
    fields.flag("number", number);
    fields.require(at::are_expandable(mask, sizes) && Sizes(at::infer_size(mask, sizes)) == sizes,
                   "\"mask\" does not broadcast to \"sizes\"");
  }
};

/// Selects by a mask, which is true where an input of the same name is positive: {mask, x} or
/// {mask, x, y} gives {x where the mask is true; y, or 0, elsewhere}.
class Where final : public Op {
 public:
  Where(WhereShape shape, Pass /*pass*/) : shape_(std::move(shape)) {}

  /// An element of the mask is one byte.
  Cost cost(fixtures::Precision precision) const override {
    const double tensors = shape_.number ? 2 : 3;
    return {.flops = 0,
            .bytes = element_bytes(precision) * tensors * elements(shape_.sizes) +
                     elements(shape_.mask)};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{draws.normal(shape_.mask), draws.normal(shape_.sizes)};
    if (!shape_.number) made.push_back(draws.normal(shape_.sizes));
    return made;
  }

  Call call(const Tensors& in) const override {
    const at::Tensor mask = in[0].gt(0);
    if (shape_.number) {
      return [x = in[1], outside = mask.logical_not()]() -> Tensors {
        return {at::masked_fill(x, outside, 0)};
      };
    }
    return [mask, x = in[1], y = in[2]]() -> Tensors { return {at::where(mask, x, y)}; };
  }

 private:
  WhereShape shape_;
};

/// Whether an argument is a number, or a tensor of one that is broadcast.
bool is_number(const c10::IValue& argument) {
  return argument.isScalar() || (argument.isTensor() && argument.toTensor().numel() == 1);
}

/// where(mask, x, y), masked_fill(x, mask, number). Returns nothing for integers and where x and y
/// are both numbers or both broadcast.
std::vector<MatchedOp> match_where(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  const bool fill = call.name != "aten::where";
  if (arguments.size() != 3) return {};  // where(mask) lists indices
  const at::Tensor& mask = arguments[fill ? 1 : 0].toTensor();
  const c10::IValue* x = &arguments[fill ? 0 : 1];
  const c10::IValue* y = &arguments[2];
  if (is_number(*x)) std::swap(x, y);
  if (!is_plain(*x) || mask.numel() == 0) return {};
  const Sizes sizes = tensor_sizes(x->toTensor());
  const bool number = is_number(*y);
  if (!number && (!is_plain(*y) || tensor_sizes(y->toTensor()) != sizes)) return {};
  const Sizes masked = tensor_sizes(mask);
  if (!at::are_expandable(masked, sizes) || Sizes(at::infer_size(masked, sizes)) != sizes)
    return {};
  return {matched(Pass::kForward, WhereShape{.sizes = sizes, .mask = masked, .number = number})};
}

}  // namespace

OpType where_type() {
  return {.name = "where",
          .op_class = OpClass::kMovement,
          .aten = {"where", "masked_fill", "masked_fill_"},
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [5, 7]})", R"({"sizes": [2, 3, 7], "mask": [3, 1]})",
                       R"({"sizes": [64, 17], "mask": [17], "number": true})"},
          .fields = fields_of<WhereShape>,
          .make = make_op<Where, WhereShape>,
          .match = match_where};
}

}  // namespace fathom::ops
