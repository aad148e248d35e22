#include <ATen/ops/index_put.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/index_select_backward.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cmath>

#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/movement/picks.h"

namespace fathom::ops {
namespace {

struct IndexPutShape {
  Picks index;
  bool accumulate;  ///< adds to the elements instead of replacing them

  void visit(Fields& fields) {
    index.visit(fields);
    fields.flag("accumulate", accumulate);
    fields.require(accumulate || index.picks <= index.sizes[1],
                   "\"picks\" is larger than the dimension, expected \"accumulate\"");
  }
};

/// The memory of x that an index does not touch, in elements.
double untouched(const Picks& shape) {
  return std::max(elements(shape.sizes) - elements(shape.picked()), 0.0);
}

/// Picks whole slices along the second dimension. Forward: {x, index [picks]} gives {y}. Backward:
/// {x, index, g}, with g of the shape of y, gives {dx}.
class Index final : public Op {
 public:
  Index(Picks shape, Pass pass) : shape_(std::move(shape)), pass_(pass) {}

  /// Forward reads only the picked slices of x; backward writes all of dx.
  Cost cost(fixtures::Precision precision) const override {
    const double y = elements(shape_.picked());
    const double whole = elements(shape_.sizes);
    const double x = pass_ == Pass::kForward ? std::min(y, whole) : whole;
    return {.flops = 0,
            .bytes = kIndexBytes * static_cast<double>(shape_.picks) +
                     element_bytes(precision) * (x + y)};
  }

  double untouched_bytes(fixtures::Precision precision) const override {
    return pass_ == Pass::kForward ? element_bytes(precision) * untouched(shape_) : 0;
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{draws.normal(shape_.sizes), draws.integers({shape_.picks}, 0, shape_.sizes[1])};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(shape_.picked()));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (pass_ == Pass::kForward) {
      return [x = in[0], index = in[1]]() -> Tensors { return {at::index_select(x, 1, index)}; };
    }
    return [sizes = shape_.sizes, index = in[1], g = in[2]]() -> Tensors {
      return {at::index_select_backward(g, sizes, 1, index)};
    };
  }

  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    return pass_ == Pass::kForward ? 1 : summands(shape_);
  }

 private:
  Picks shape_;
  Pass pass_;
};

/// Writes slices of x along the second dimension: {x, index [picks], values} gives {x}. Without
/// `accumulate` the indices differ.
class IndexPut final : public Op {
 public:
  IndexPut(IndexPutShape shape, Pass /*pass*/) : shape_(std::move(shape)) {}
  /// LibTorch's index_add_ instead of its index_put_.
  IndexPut(Picks shape, Pass /*pass*/)
      : shape_{.index = std::move(shape), .accumulate = true}, index_add_(true) {}

  Cost cost(fixtures::Precision precision) const override {
    const double values = elements(shape_.index.picked());
    const double x = std::min(values, elements(shape_.index.sizes));
    return {.flops = shape_.accumulate ? values : 0,
            .bytes = kIndexBytes * static_cast<double>(shape_.index.picks) +
                     element_bytes(precision) * (values + (shape_.accumulate ? 2 : 1) * x)};
  }

  double untouched_bytes(fixtures::Precision precision) const override {
    return element_bytes(precision) * untouched(shape_.index);
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    const auto& [sizes, picks] = shape_.index;
    const at::Tensor index = shape_.accumulate
                                 ? draws.integers({picks}, 0, sizes[1])
                                 : draws.uniform({sizes[1]}, 0, 1).argsort().narrow(0, 0, picks);
    return {draws.normal(sizes), index, draws.normal(shape_.index.picked())};
  }

  Call call(const Tensors& in) const override {
    if (index_add_) {
      return [x = in[0], index = in[1], values = in[2]]() -> Tensors {
        return {x.index_add_(1, index, values)};
      };
    }
    c10::List<std::optional<at::Tensor>> indices;
    indices.push_back(std::nullopt);  // all of the first dimension
    indices.push_back(in[1]);
    return [indices, x = in[0], values = in[2], accumulate = shape_.accumulate]() -> Tensors {
      return {x.index_put_(indices, values, accumulate)};
    };
  }

  bool in_place() const override { return true; }

  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    return summands(shape_.index);
  }

 private:
  IndexPutShape shape_;
  bool index_add_ = false;
};

/// The one list of positions that `indices` give: adjacent tensors of integers that pick from a
/// flattened x. `picks` is 0 where they are something else, such as a mask.
Picks picked_by(at::IntArrayRef sizes, const c10::IValue& indices) {
  Picks none{.sizes = {}, .picks = 0};
  int64_t first = -1;
  int64_t last = -1;
  int64_t picks = 1;
  int64_t dim = 0;
  for (const c10::IValue& index : indices.toListRef()) {
    if (given(index)) {
      const at::Tensor& one = index.toTensor();
      if (one.scalar_type() != at::kLong || (first >= 0 && last != dim - 1)) return none;
      if (first < 0) first = dim;
      last = dim;
      picks = std::max(picks, one.numel());
    }
    ++dim;
  }
  if (first < 0) return none;
  const auto begin = static_cast<std::size_t>(first);
  const auto end = static_cast<std::size_t>(last) + 1;
  return {.sizes = {c10::multiply_integers(sizes.slice(0, begin)),
                    c10::multiply_integers(sizes.slice(begin, end - begin)),
                    c10::multiply_integers(sizes.slice(end))},
          .picks = picks};
}

/// index(x, indices), index_select(x, dim, index), index_select_backward(g, sizes, dim, index).
std::vector<MatchedOp> match_index(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (!is_plain(arguments[0])) return {};
  const at::Tensor& first = arguments[0].toTensor();
  Picks shape;
  if (call.name == "aten::index") {
    shape = picked_by(first.sizes(), arguments[1]);
  } else {
    const Sizes sizes = is_gradient(call) ? arguments[1].toIntVector() : first.sizes().vec();
    if (sizes.empty()) return {};
    const std::size_t dim = is_gradient(call) ? 2 : 1;
    shape = {.sizes = around(sizes, arguments[dim].toInt()),
             .picks = arguments[dim + 1].toTensor().numel()};
  }
  if (shape.picks == 0) return {};
  if (shape.sizes.size() == 3 && shape.sizes[2] == 1) shape.sizes.pop_back();
  return {matched(call, std::move(shape))};
}

/// index_put_(x, indices, values, accumulate).
std::vector<MatchedOp> match_index_put(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (!is_plain(arguments[0])) return {};
  Picks shape = picked_by(arguments[0].toTensor().sizes(), arguments[1]);
  if (shape.picks == 0) return {};
  const bool accumulate = arguments[3].toBool();
  if (!accumulate && shape.picks > shape.sizes[1]) return {};  // some elements are written twice
  if (shape.sizes[2] == 1) shape.sizes.pop_back();
  return {
      matched(Pass::kForward, IndexPutShape{.index = std::move(shape), .accumulate = accumulate})};
}

/// index_add_(x, dim, index, values, alpha).
std::vector<MatchedOp> match_index_add(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (!is_plain(arguments[0]) || arguments[4].toScalar().toDouble() != 1) return {};
  const at::Tensor& x = arguments[0].toTensor();
  const int64_t picks = arguments[2].toTensor().numel();
  if (x.dim() == 0 || picks == 0) return {};
  Picks shape{.sizes = around(x.sizes(), arguments[1].toInt()), .picks = picks};
  if (shape.sizes[2] == 1) shape.sizes.pop_back();
  return {matched(Pass::kForward, std::move(shape))};
}

}  // namespace

OpType index_type() {
  return {.name = "index",
          .op_class = OpClass::kMovement,
          .aten = {"index", "index_select", "index_select_backward"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [1, 11, 4], "picks": 5})", R"({"sizes": [3, 5], "picks": 7})"},
          .fields = fields_of<Picks>,
          .make = make_op<Index, Picks>,
          .match = match_index};
}

OpType index_put_type() {
  return {.name = "index_put",
          .op_class = OpClass::kMovement,
          .aten = {"index_put_", "_index_put_impl_", "index_put"},
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [1, 11, 4], "picks": 5, "accumulate": true})",
                       R"({"sizes": [3, 5], "picks": 3})"},
          .fields = fields_of<IndexPutShape>,
          .make = make_op<IndexPut, IndexPutShape>,
          .match = match_index_put};
}

OpType index_add_type() {
  return {.name = "index_add",
          .op_class = OpClass::kMovement,
          .aten = {"index_add_", "index_add"},
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [1, 11, 4], "picks": 35})", R"({"sizes": [3, 5], "picks": 2})"},
          .fields = fields_of<Picks>,
          .make = make_op<IndexPut, Picks>,
          .match = match_index_add};
}

}  // namespace fathom::ops
