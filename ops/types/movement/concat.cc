#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include <string>

#include "ops/core/buffer.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

struct Shape {
  std::vector<std::vector<int64_t>> tensors;
  int64_t dim;
  bool stack;  ///< along a new dimension
};

/// Inputs the tensors, outputs {all of them in one}.
class Concat final : public Op {
 public:
  explicit Concat(Shape shape) : shape_(std::move(shape)) {}

  Cost cost(fixtures::Precision precision) const override {
    double count = 0;
    for (const auto& sizes : shape_.tensors) count += elements(sizes);
    return {.flops = 0, .bytes = element_bytes(precision) * 2 * count};
  }

  Tensors inputs(uint64_t seed) const override {
    Draws draw(seed);
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
  Shape shape_;
};

}  // namespace

/// {"tensors": [[...], ...], "dim"}, {"stack": true}.
std::unique_ptr<Op> make_concat(Fields& fields, Pass /*pass*/) {
  Shape shape{.tensors = fields.tensors("tensors"),
              .dim = fields.count("dim"),
              .stack = fields.flag("stack")};
  auto first = shape.tensors[0];
  if (shape.dim >= static_cast<int64_t>(first.size()) + (shape.stack ? 1 : 0))
    fields.fail("\"dim\" is " + std::to_string(shape.dim) +
                ", expected a dimension of \"tensors\"");
  const auto along = static_cast<std::size_t>(shape.dim);
  for (auto sizes : shape.tensors) {
    if (!shape.stack && sizes.size() == first.size()) sizes[along] = first[along];
    if (sizes != first) fields.fail("\"tensors\" differ in more than dimension \"dim\"");
  }
  return std::make_unique<Concat>(std::move(shape));
}

/// cat(tensors, dim), stack(tensors, dim).
std::vector<SeenOp> recognise_concat(const Seen& seen) {
  const bool stack = seen.name == "aten::stack";
  if ((!stack && seen.name != "aten::cat" && seen.name != "aten::concat") ||
      !seen.arguments[0].isTensorList()) {
    return {};
  }
  const auto tensors = seen.arguments[0].toTensorVector();
  if (tensors.empty()) return {};
  for (const auto& tensor : tensors)
    if (!is_plain(tensor)) return {};
  const int64_t rank = tensors[0].dim() + (stack ? 1 : 0);
  if (rank == 0) return {};
  nlohmann::ordered_json fields;
  fields["tensors"] = extents(tensors);
  const int64_t dim = seen.arguments[1].toInt();
  fields["dim"] = dim < 0 ? dim + rank : dim;
  if (stack) fields["stack"] = true;
  return {{Pass::kForward, fields}};
}

}  // namespace fathom::ops
