#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <c10/core/WrapDimMinimal.h>

#include <string>

#include "ops/core/buffer.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct ConcatShape {
  std::vector<Sizes> tensors;
  int64_t dim;
  bool stack;  ///< along a new dimension

  void visit(Fields& fields) {
    fields.tensors("tensors", tensors);
    fields.count("dim", dim);
    fields.flag("stack", stack);
    auto first = tensors[0];
    fields.require(dim < std::ssize(first) + (stack ? 1 : 0),
                   "\"dim\" is " + std::to_string(dim) + ", expected a dimension of \"tensors\"");
    const auto along = static_cast<std::size_t>(dim);
    for (auto sizes : tensors) {
      if (!stack && sizes.size() == first.size()) sizes[along] = first[along];
      fields.require(sizes == first, "\"tensors\" differ in more than dimension \"dim\"");
    }
  }
};

/// Inputs are the tensors, outputs {their concatenation}.
class Concat final : public Op {
 public:
  Concat(ConcatShape shape, Pass /*pass*/) : shape_(std::move(shape)) {}

  Cost cost(fixtures::Precision precision) const override {
    double count = 0;
    for (const auto& sizes : shape_.tensors) count += elements(sizes);
    return {.flops = 0, .bytes = element_bytes(precision) * 2 * count};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draw(seed);
    Tensors made;
    for (const auto& sizes : shape_.tensors) made.push_back(draw.normal(sizes));
    return made;
  }

  Call call(const Tensors& in) const override {
    const std::vector<at::Tensor> tensors(in.begin(), in.end());
    if (shape_.stack)
      return [tensors, dim = shape_.dim]() -> Tensors { return {at::stack(tensors, dim)}; };
    return [tensors, dim = shape_.dim]() -> Tensors { return {at::cat(tensors, dim)}; };
  }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kOneDnn}; }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    ConcatProblem problem{.parts = {}, .out = buffer(out[0]), .axis = static_cast<int>(shape_.dim)};
    for (const auto& part : in) {
      problem.parts.push_back(buffer(shape_.stack ? part.unsqueeze(shape_.dim) : part));
    }
    return problem;
  }

 private:
  ConcatShape shape_;
};

/// cat(tensors, dim), stack(tensors, dim).
std::vector<MatchedOp> match_concat(const ObservedCall& call) {
  if (!call.arguments[0].isTensorList()) return {};
  const auto tensors = call.arguments[0].toTensorVector();
  if (tensors.empty()) return {};
  for (const auto& tensor : tensors)
    if (!is_plain(tensor)) return {};
  const bool stack = call.name == "aten::stack";
  const int64_t rank = tensors[0].dim() + (stack ? 1 : 0);
  if (rank == 0) return {};
  const int64_t dim = call.arguments[1].toInt();
  return {matched(Pass::kForward, ConcatShape{.tensors = tensor_sizes(tensors),
                                              .dim = c10::maybe_wrap_dim(dim, rank),
                                              .stack = stack})};
}

}  // namespace

OpType concat_type() {
  return {.name = "concat",
          .op_class = OpClass::kMovement,
          .aten = {"cat", "concat", "stack"},
          .passes = {Pass::kForward},
          .examples = {R"({"tensors": [[5, 3], [5, 1], [5, 7]], "dim": 1})",
                       R"({"tensors": [[3], [1]], "dim": 0})",
                       R"({"tensors": [[5, 3], [5, 3]], "dim": 2, "stack": true})"},
          .fields = fields_of<ConcatShape>,
          .make = make_op<Concat, ConcatShape>,
          .match = match_concat};
}

}  // namespace fathom::ops
