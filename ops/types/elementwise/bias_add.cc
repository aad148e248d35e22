#include <ATen/ops/add.h>

#include "ops/core/buffer.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct BiasAddShape {
  Sizes sizes;  ///< [..., C]

  void visit(Fields& fields) { fields.sizes("sizes", sizes); }
};

/// The addition of a layer's bias: inputs {x [..., C], bias [C]}, outputs {x + bias}.
class BiasAdd final : public Op {
 public:
  BiasAdd(BiasAddShape shape, Pass /*pass*/) : sizes_(std::move(shape.sizes)) {}

  Cost cost(fixtures::Precision precision) const override {
    const double count = elements(sizes_);
    return {.flops = count,
            .bytes = element_bytes(precision) * (2 * count + static_cast<double>(sizes_.back()))};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draw(seed);
    return {draw.normal(sizes_), draw.normal({sizes_.back()})};
  }

  Call call(const Tensors& in) const override {
    return [x = in[0], bias = in[1]]() -> Tensors { return {at::add(x, bias)}; };
  }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kOneDnn}; }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    Sizes row(sizes_.size(), 1);
    row.back() = sizes_.back();
    return BinaryProblem{.kind = BinaryProblem::Kind::kAdd,
                         .a = buffer(in[0]),
                         .b = buffer(in[1].view(row)),
                         .out = buffer(out[0])};
  }

 private:
  Sizes sizes_;
};

}  // namespace

OpType bias_add_type() {
  return {.name = "bias_add",
          .op_class = OpClass::kElementwise,
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [13, 7]})", R"({"sizes": [1, 1]})"},
          .fields = fields_of<BiasAddShape>,
          .make = make_op<BiasAdd, BiasAddShape>,
          // LibTorch has no such op: it runs as add, or inside addmm.
          .match = [](const ObservedCall& /*call*/) { return std::vector<MatchedOp>{}; }};
}

}  // namespace fathom::ops
