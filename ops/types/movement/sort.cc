#include <ATen/TensorOperators.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>
#include <c10/core/WrapDimMinimal.h>

#include <stdexcept>
#include <string>

#include "ops/core/check.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct SortShape {
  Sizes sizes;
  int64_t dim;
  bool descending;
  bool stable;  ///< equal elements keep their order

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.count("dim", dim);
    fields.flag("descending", descending);
    fields.flag("stable", stable);
    fields.require(dim < std::ssize(sizes),
                   "\"dim\" is " + std::to_string(dim) + ", expected a dimension of \"sizes\"");
  }
};

struct TopKShape {
  Sizes sizes;
  int64_t dim;
  int64_t k;

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.count("dim", dim);
    fields.extent("k", k);
    fields.require(dim < std::ssize(sizes),
                   "\"dim\" is " + std::to_string(dim) + ", expected a dimension of \"sizes\"");
    fields.require(dim >= std::ssize(sizes) || k <= sizes[static_cast<std::size_t>(dim)],
                   "\"k\" is larger than the dimension");
  }
};

/// Inputs {x}, outputs {elements in order along `dim`, their indices}.
class Sort final : public Op {
 public:
  Sort(const SortShape& shape, Pass /*pass*/)
      : sizes_(shape.sizes),
        dim_(shape.dim),
        chosen_(elements(shape.sizes)),
        forward_([dim = shape.dim, descending = shape.descending,
                  stable = shape.stable](const at::Tensor& x) {
          return stable ? at::sort(x, true, dim, descending) : at::sort(x, dim, descending);
        }),
        stable_(shape.stable) {}
  Sort(const TopKShape& shape, Pass /*pass*/)
      : sizes_(shape.sizes),
        dim_(shape.dim),
        chosen_(elements(shape.sizes) * static_cast<double>(shape.k) /
                static_cast<double>(shape.sizes[static_cast<std::size_t>(shape.dim)])),
        forward_([dim = shape.dim, k = shape.k](const at::Tensor& x) {
          return at::topk(x, k, dim, /*largest=*/true, /*sorted=*/true);
        }) {}

  /// 0 FLOP: comparisons don't count.
  Cost cost(fixtures::Precision precision) const override {
    return {
        .flops = 0,
        .bytes = element_bytes(precision) * (elements(sizes_) + chosen_) + kIndexBytes * chosen_};
  }

  Tensors inputs(uint64_t seed) const override { return {RandomInputs(seed).normal(sizes_)}; }

  Call call(const Tensors& in) const override {
    return [x = in[0], forward = forward_]() -> Tensors {
      const auto [values, indices] = forward(x);
      return {values, indices};
    };
  }

  /// Of equal elements, any order of the indices is right, unless the sort is stable.
  void check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision precision,
             const Call& reference) const override {
    const Tensors expected = reference();
    expect_close({outputs[0]}, {expected[0]}, precision);
    const at::Tensor indices = outputs[1].to(at::kCPU);
    if (indices.scalar_type() != at::kLong || indices.sizes() != outputs[0].sizes())
      throw std::runtime_error("the indices have another shape or type than expected");
    const int64_t extent = sizes_[static_cast<std::size_t>(dim_)];
    if (indices.lt(0).logical_or(indices.ge(extent)).any().item<bool>())
      throw std::runtime_error("an index is outside the dimension");
    const at::Tensor x = inputs[0].to(at::kCPU);
    if (!x.gather(dim_, indices).eq(outputs[0].to(at::kCPU)).all().item<bool>())
      throw std::runtime_error("an index is not that of its element");
    if (std::get<0>(indices.sort(dim_)).diff(1, dim_).eq(0).any().item<bool>())
      throw std::runtime_error("an index is there twice");
    if (stable_ && !indices.equal(expected[1].to(at::kCPU)))
      throw std::runtime_error("equal elements are not in their order, expected a stable sort");
  }

 private:
  Sizes sizes_;
  int64_t dim_;
  double chosen_;  ///< elements of the result
  std::function<std::tuple<at::Tensor, at::Tensor>(const at::Tensor& x)> forward_;
  bool stable_ = false;
};

/// sort(x, dim, descending), sort(x, stable, dim, descending).
std::vector<MatchedOp> match_sort(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (!is_plain(arguments[0]) || arguments[0].toTensor().dim() == 0) return {};
  const at::Tensor& x = arguments[0].toTensor();
  const std::size_t dim = arguments.size() - 2;
  if (!arguments[dim].isInt()) return {};  // the dimension is a name
  return {matched(Pass::kForward,
                  SortShape{.sizes = tensor_sizes(x),
                            .dim = c10::maybe_wrap_dim(arguments[dim].toInt(), x.dim()),
                            .descending = arguments[dim + 1].toBool(),
                            .stable = dim == 2 && arguments[1].isBool() && arguments[1].toBool()})};
}

/// topk(x, k, dim, largest, sorted). Returns nothing for the smallest, for any order and for none.
std::vector<MatchedOp> match_top_k(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (!is_plain(arguments[0]) || arguments[0].toTensor().dim() == 0) return {};
  const at::Tensor& x = arguments[0].toTensor();
  if (arguments[1].toInt() == 0 || !arguments[3].toBool() || !arguments[4].toBool()) return {};
  return {
      matched(Pass::kForward, TopKShape{.sizes = tensor_sizes(x),
                                        .dim = c10::maybe_wrap_dim(arguments[2].toInt(), x.dim()),
                                        .k = arguments[1].toInt()})};
}

}  // namespace

OpType sort_type() {
  return {.name = "sort",
          .op_class = OpClass::kMovement,
          .aten = {"sort"},
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [101], "dim": 0, "descending": true})",
                       R"({"sizes": [5, 7, 3], "dim": 1})",
                       R"({"sizes": [3, 67], "dim": 1, "descending": true, "stable": true})"},
          .fields = fields_of<SortShape>,
          .make = make_op<Sort, SortShape>,
          .match = match_sort};
}

OpType top_k_type() {
  return {.name = "top_k",
          .op_class = OpClass::kMovement,
          .aten = {"topk"},
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [101], "dim": 0, "k": 17})",
                       R"({"sizes": [5, 7, 3], "dim": 1, "k": 7})",
                       R"({"sizes": [4, 9], "dim": 1, "k": 1})"},
          .fields = fields_of<TopKShape>,
          .make = make_op<Sort, TopKShape>,
          .match = match_top_k};
}

}  // namespace fathom::ops
