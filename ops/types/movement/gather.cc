#include <ATen/ops/gather.h>
#include <ATen/ops/gather_backward.h>
#include <c10/util/accumulate.h>

#include <algorithm>

#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/movement/picks.h"

namespace fathom::ops {
namespace {

/// Gathers along the second dimension of x [outer, extent] or [outer, extent, inner]. Forward: {x,
/// index [outer, picks, ...]} gives {y} of the shape of index. Backward: {x, index, g}, with g of
/// the shape of y, gives {dx}.
class Gather final : public Op {
 public:
  Gather(const Picks& shape, Pass pass)
      : sizes_(shape.sizes), picked_(shape.picked()), pass_(pass) {}

  /// Forward reads only the picked elements of x; backward writes all of dx.
  Cost cost(fixtures::Precision precision) const override {
    const double whole = elements(sizes_);
    const double y = elements(picked_);
    const double x = pass_ == Pass::kForward ? std::min(y, whole) : whole;
    return {.flops = 0, .bytes = kIndexBytes * y + element_bytes(precision) * (x + y)};
  }

  double untouched_bytes(fixtures::Precision precision) const override {
    const double touched = pass_ == Pass::kForward ? elements(picked_) : 0;
    return element_bytes(precision) * std::max(elements(sizes_) - touched, 0.0);
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{draws.normal(sizes_), draws.integers(picked_, 0, sizes_[1])};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(picked_));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (pass_ == Pass::kForward) {
      return [x = in[0], index = in[1]]() -> Tensors { return {at::gather(x, 1, index)}; };
    }
    return [x = in[0], index = in[1], g = in[2]]() -> Tensors {
      return {at::gather_backward(g, x, 1, index, /*sparse_grad=*/false)};
    };
  }

  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    return pass_ == Pass::kForward ? 1 : summands({.sizes = sizes_, .picks = picked_[1]});
  }

 private:
  Sizes sizes_;
  Sizes picked_;
  Pass pass_;
};

/// gather(x, dim, index), gather_backward(g, x, dim, index).
std::vector<MatchedOp> match_gather(const ObservedCall& call) {
  const std::size_t x = is_gradient(call) ? 1 : 0;
  const auto whole = call.arguments[x].toTensor().sizes();
  const int64_t axis = call.arguments[x + 1].toInt();
  const auto picked = call.arguments[x + 2].toTensor().sizes();
  if (whole.empty() || picked.size() != whole.size()) return {};
  const Sizes sizes = around(whole, axis);
  Sizes expected = around(picked, axis);
  const int64_t picks = expected[1];
  expected[1] = sizes[1];
  if (expected != sizes) return {};  // picks from a part of the other dimensions
  return {matched(call, Picks{.sizes = sizes, .picks = picks})};
}

}  // namespace

OpType gather_type() {
  return {.name = "gather",
          .op_class = OpClass::kMovement,
          .aten = {"gather", "gather_backward"},
          .aten_parts = {"scatter_add", "scatter_add_"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [5, 4], "picks": 1})", R"({"sizes": [2, 5, 3], "picks": 7})"},
          .fields = fields_of<Picks>,
          .make = make_op<Gather, Picks>,
          .match = match_gather};
}

}  // namespace fathom::ops
