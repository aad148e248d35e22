#include "ops/core/match_fill.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

/// Inputs {x}, outputs {x, filled with one number}.
class Fill final : public Op {
 public:
  Fill(FillShape shape, Pass /*pass*/) : sizes_(std::move(shape.sizes)) {}

  Cost cost(fixtures::Precision precision) const override {
    return {.flops = 0, .bytes = element_bytes(precision) * elements(sizes_)};
  }

  Tensors inputs(uint64_t seed) const override { return {RandomInputs(seed).normal(sizes_)}; }

  Call call(const Tensors& in) const override {
    return [x = in[0]]() -> Tensors { return {x.fill_(1)}; };
  }

  bool in_place() const override { return true; }

 private:
  Sizes sizes_;
};

}  // namespace

OpType fill_type() {
  return {
      .name = "fill",
      .op_class = OpClass::kMovement,
      .aten = {"fill_", "zero_", "zeros", "zeros_like", "ones", "ones_like", "full", "new_zeros"},
      .passes = {Pass::kForward},
      .examples = {R"({"sizes": [5, 3]})"},
      .fields = fields_of<FillShape>,
      .make = make_op<Fill, FillShape>,
      .match = match_fill};
}

}  // namespace fathom::ops
