#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>

#include <stdexcept>

#include "ops/core/check.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// Inputs {x}, outputs {index of the largest along `dim`, int64}.
class ArgMax final : public Op {
 public:
  ArgMax(std::vector<int64_t> sizes, int64_t dim, bool keepdim)
      : sizes_(std::move(sizes)), dim_(dim), keepdim_(keepdim) {}

  /// 0 FLOP: comparisons don't count.
  Cost cost(fixtures::Precision precision) const override {
    const double count = elements(sizes_);
    const double rows = count / static_cast<double>(sizes_[static_cast<std::size_t>(dim_)]);
    return {.flops = 0, .bytes = element_bytes(precision) * count + sizeof(int64_t) * rows};
  }

  Tensors inputs(uint64_t seed) const override { return {Draws(seed).normal(sizes_)}; }

  Call call(const Tensors& in) const override {
    return [x = in[0], dim = dim_, keepdim = keepdim_]() -> Tensors {
      return {at::argmax(x, dim, keepdim)};
    };
  }

  /// Of equal ones any may be it.
  void check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision /*precision*/,
             const Call& /*reference*/) const override {
    const at::Tensor x = inputs[0].to(at::TensorOptions(at::kDouble).device(at::kCPU));
    const at::Tensor largest = x.amax(dim_, /*keepdim=*/true);
    const at::Tensor expected = keepdim_ ? largest : largest.squeeze(dim_);
    at::Tensor found = outputs[0].to(at::kCPU);
    if (found.scalar_type() != at::kLong || found.sizes() != expected.sizes())
      throw std::runtime_error("the indices have another shape or type than the largest elements");
    if (!keepdim_) found = found.unsqueeze(dim_);
    if (found.lt(0).logical_or(found.ge(x.size(dim_))).any().item<bool>())
      throw std::runtime_error("an index is none of the dimension's");
    if (!x.gather(dim_, found).eq(largest).all().item<bool>())
      throw std::runtime_error("an index is not that of the largest element");
  }

 private:
  std::vector<int64_t> sizes_;
  int64_t dim_;
  bool keepdim_;
};

}  // namespace

std::unique_ptr<Op> make_arg_max(Fields& fields, Pass /*pass*/) {
  auto sizes = fields.sizes("sizes");
  const int64_t dim = fields.count("dim");
  if (dim >= static_cast<int64_t>(sizes.size()))
    fields.fail("\"dim\" is " + std::to_string(dim) + ", expected a dimension of \"sizes\"");
  return std::make_unique<ArgMax>(std::move(sizes), dim, fields.flag("keepdim"));
}

/// argmax(x, dim, keepdim); without a dim over the flattened tensor.
std::vector<SeenOp> recognise_arg_max(const Seen& seen) {
  if (seen.name != "aten::argmax" || !is_plain(seen.arguments[0])) return {};
  const at::Tensor& x = seen.arguments[0].toTensor();
  const bool flat = seen.arguments[1].isNone() || x.dim() == 0;
  nlohmann::ordered_json fields;
  fields["sizes"] = flat ? std::vector<int64_t>{x.numel()} : extents(x);
  const int64_t dim = flat ? 0 : seen.arguments[1].toInt();
  fields["dim"] = dim < 0 ? dim + x.dim() : dim;
  if (!flat && seen.arguments[2].toBool()) fields["keepdim"] = true;
  return {{Pass::kForward, fields}};
}

}  // namespace fathom::ops
