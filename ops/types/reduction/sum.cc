#include <ATen/ops/mean.h>
#include <ATen/ops/sum.h>
#include <c10/core/WrapDimMinimal.h>

#include <algorithm>

#include "ops/core/buffer.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct SumShape {
  Sizes sizes;
  Sizes dims;  ///< dimensions that are summed over; empty for all
  bool keepdim;
  bool mean;  ///< divided by the number of summands

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.counts("dims", dims, {});
    fields.flag("keepdim", keepdim);
    fields.flag("mean", mean);
    std::sort(dims.begin(), dims.end());
    fields.require(dims.empty() || (dims.back() < std::ssize(sizes) &&
                                    std::adjacent_find(dims.begin(), dims.end()) == dims.end()),
                   "\"dims\" are not distinct dimensions of \"sizes\", from 0");
    fields.require(!keepdim || !dims.empty(), "\"keepdim\" is true, expected \"dims\", too");
  }
};

/// Inputs {x}, outputs {sum}.
class Sum final : public Op {
 public:
  Sum(SumShape shape, Pass /*pass*/) : shape_(std::move(shape)) {}

  Cost cost(fixtures::Precision precision) const override {
    const double count = elements(shape_.sizes);
    return {.flops = count, .bytes = element_bytes(precision) * (count + elements(kept()))};
  }

  /// Away from zero, like losses: a sum that nearly cancels has large relative errors.
  Tensors inputs(uint64_t seed) const override {
    return {RandomInputs(seed).normal(shape_.sizes).add_(1)};
  }

  Call call(const Tensors& in) const override {
    const at::Tensor& x = in[0];
    const auto& [sizes, dims, keepdim, mean] = shape_;
    if (dims.empty()) {
      if (mean) return [x]() -> Tensors { return {at::mean(x)}; };
      return [x]() -> Tensors { return {at::sum(x)}; };
    }
    if (mean)
      return [x, dims = dims, keep = keepdim]() -> Tensors { return {at::mean(x, dims, keep)}; };
    return [x, dims = dims, keep = keepdim]() -> Tensors { return {at::sum(x, dims, keep)}; };
  }

  /// Vendors' libraries refuse to reduce nothing.
  std::vector<Backend> backends() const override {
    if (kept() == shape_.sizes) return {Backend::kTorch};
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    return ReductionProblem{
        .mean = shape_.mean, .x = buffer(in[0]), .y = buffer(out[0].view(kept()))};
  }

 private:
  /// Extents of the result with those of 1 that keepdim=true keeps.
  Sizes kept() const {
    if (shape_.dims.empty()) return Sizes(shape_.sizes.size(), 1);
    Sizes sizes = shape_.sizes;
    for (const int64_t dim : shape_.dims) sizes[static_cast<std::size_t>(dim)] = 1;
    return sizes;
  }

  SumShape shape_;
};

/// sum(x, dtype) or sum(x, dims, keepdim, dtype); the same for mean.
std::vector<MatchedOp> match_sum(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (!is_plain(arguments[0])) return {};
  const at::Tensor& x = arguments[0].toTensor();
  SumShape shape{
      .sizes = tensor_sizes(x), .dims = {}, .keepdim = false, .mean = call.name == "aten::mean"};
  if (arguments.size() > 2 && x.dim() > 0) {
    if (arguments[1].isIntList()) shape.dims = arguments[1].toIntVector();
    for (auto& dim : shape.dims) dim = c10::maybe_wrap_dim(dim, x.dim());
    if (shape.dims.empty())  // None or an empty list: all dimensions
      for (int64_t dim = 0; dim < x.dim(); ++dim) shape.dims.push_back(dim);
    shape.keepdim = arguments[2].toBool();
  }
  return {matched(Pass::kForward, std::move(shape))};
}

}  // namespace

OpType sum_type() {
  return {.name = "sum",
          .op_class = OpClass::kReduction,
          .aten = {"sum", "mean"},
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [5, 7, 3]})", R"({"sizes": [5, 7, 3], "dims": [2, 0]})",
                       R"({"sizes": [5, 7, 1], "dims": [1], "keepdim": true, "mean": true})",
                       R"({"sizes": [1], "mean": true})"},
          .fields = fields_of<SumShape>,
          .make = make_op<Sum, SumShape>,
          .match = match_sum};
}

}  // namespace fathom::ops
