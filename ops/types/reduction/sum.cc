#include <ATen/ops/mean.h>
#include <ATen/ops/sum.h>

#include <algorithm>

#include "ops/core/buffer.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

struct Shape {
  std::vector<int64_t> sizes;
  std::vector<int64_t> dims;  ///< that are summed over; none for all
  bool keepdim;
  bool mean;  ///< divided by the number of summands
};

/// Inputs {x}, outputs {sum}.
class Sum final : public Op {
 public:
  explicit Sum(Shape shape) : shape_(std::move(shape)) {}

  Cost cost(fixtures::Precision precision) const override {
    const double count = elements(shape_.sizes);
    return {.flops = count, .bytes = element_bytes(precision) * (count + elements(kept()))};
  }

  /// Off zero, as losses are: sums that all but cancel say nothing of their roundings.
  Tensors inputs(uint64_t seed) const override {
    return {Draws(seed).normal(shape_.sizes).add_(1)};
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

  /// Libraries reduce something or refuse.
  std::vector<Backend> backends() const override {
    if (kept() == shape_.sizes) return {Backend::kTorch};
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    return ReductionProblem{
        .mean = shape_.mean, .x = buffer(in[0]), .y = buffer(out[0].view(kept()))};
  }

 private:
  /// Extents of the result with those of 1 that `keepdim` keeps.
  std::vector<int64_t> kept() const {
    if (shape_.dims.empty()) return std::vector<int64_t>(shape_.sizes.size(), 1);
    std::vector<int64_t> sizes = shape_.sizes;
    for (const int64_t dim : shape_.dims) sizes[static_cast<std::size_t>(dim)] = 1;
    return sizes;
  }

  Shape shape_;
};

}  // namespace

/// {"sizes"}, {"dims": [0, 2], "keepdim": true} or neither for all, {"mean": true}.
std::unique_ptr<Op> make_sum(Fields& fields, Pass /*pass*/) {
  Shape shape{
      .sizes = fields.sizes("sizes"), .dims = {}, .keepdim = false, .mean = fields.flag("mean")};
  if (fields.has("dims")) {
    shape.dims = fields.counts("dims");
    shape.keepdim = fields.flag("keepdim");
    std::sort(shape.dims.begin(), shape.dims.end());
    if (shape.dims.empty() || shape.dims.back() >= static_cast<int64_t>(shape.sizes.size()) ||
        std::adjacent_find(shape.dims.begin(), shape.dims.end()) != shape.dims.end()) {
      fields.fail("\"dims\" are not some of the dimensions of \"sizes\", from 0");
    }
  }
  return std::make_unique<Sum>(std::move(shape));
}

/// sum(x, dtype) or sum(x, dims, keepdim, dtype); mean likewise.
std::vector<SeenOp> recognise_sum(const Seen& seen) {
  const bool mean = seen.name == "aten::mean";
  if ((!mean && seen.name != "aten::sum") || !is_plain(seen.arguments[0])) return {};
  const at::Tensor& x = seen.arguments[0].toTensor();
  nlohmann::ordered_json fields;
  fields["sizes"] = extents(x);
  if (seen.arguments.size() > 2 && x.dim() > 0) {
    std::vector<int64_t> dims;
    if (seen.arguments[1].isIntList()) dims = seen.arguments[1].toIntVector();
    for (auto& dim : dims) dim = dim < 0 ? dim + x.dim() : dim;
    for (int64_t dim = 0; seen.arguments[1].isNone() && dim < x.dim(); ++dim) dims.push_back(dim);
    if (dims.empty())  // LibTorch's older word for all
      for (int64_t dim = 0; dim < x.dim(); ++dim) dims.push_back(dim);
    fields["dims"] = dims;
    if (seen.arguments[2].toBool()) fields["keepdim"] = true;
  }
  if (mean) fields["mean"] = true;
  return {{Pass::kForward, fields}};
}

}  // namespace fathom::ops
