#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <c10/core/WrapDimMinimal.h>

#include <stdexcept>

#include "ops/core/check.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct ArgMaxShape {
  Sizes sizes;
  int64_t dim;
  bool keepdim;

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.count("dim", dim);
    fields.require(dim < std::ssize(sizes),
                   "\"dim\" is " + std::to_string(dim) + ", expected a dimension of \"sizes\"");
    fields.flag("keepdim", keepdim);
  }
};

/// Inputs {x}, outputs {index of the largest element along `dim`, int64}.
class ArgMax final : public Op {
 public:
  ArgMax(ArgMaxShape shape, Pass /*pass*/)
      : sizes_(std::move(shape.sizes)), dim_(shape.dim), keepdim_(shape.keepdim) {}

  /// 0 FLOP: comparisons don't count.
  Cost cost(fixtures::Precision precision) const override {
    const double count = elements(sizes_);
    const double rows = count / static_cast<double>(sizes_[static_cast<std::size_t>(dim_)]);
    return {.flops = 0, .bytes = element_bytes(precision) * count + sizeof(int64_t) * rows};
  }

  Tensors inputs(uint64_t seed) const override { return {RandomInputs(seed).normal(sizes_)}; }

  Call call(const Tensors& in) const override {
    return [x = in[0], dim = dim_, keepdim = keepdim_]() -> Tensors {
      return {at::argmax(x, dim, keepdim)};
    };
  }

  /// Where several elements are the largest, any of them is right.
  void check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision /*precision*/,
             const Call& /*reference*/) const override {
    const at::Tensor x = inputs[0].to(at::TensorOptions(at::kDouble).device(at::kCPU));
    const at::Tensor largest = x.amax(dim_, /*keepdim=*/true);
    const at::Tensor expected = keepdim_ ? largest : largest.squeeze(dim_);
    at::Tensor found = outputs[0].to(at::kCPU);
    if (found.scalar_type() != at::kLong || found.sizes() != expected.sizes())
      throw std::runtime_error("the indices have another shape or type than expected");
    if (!keepdim_) found = found.unsqueeze(dim_);
    if (found.lt(0).logical_or(found.ge(x.size(dim_))).any().item<bool>())
      throw std::runtime_error("an index is outside the dimension");
    if (!x.gather(dim_, found).eq(largest).all().item<bool>())
      throw std::runtime_error("an index is not that of the largest element");
  }

 private:
  Sizes sizes_;
  int64_t dim_;
  bool keepdim_;
};

/// argmax(x, dim, keepdim); without a dim over the flattened tensor.
std::vector<MatchedOp> match_arg_max(const ObservedCall& call) {
  if (!is_plain(call.arguments[0])) return {};
  const at::Tensor& x = call.arguments[0].toTensor();
  if (call.arguments[1].isNone() || x.dim() == 0) {
    return {matched(Pass::kForward, ArgMaxShape{.sizes = {x.numel()}, .dim = 0, .keepdim = false})};
  }
  const int64_t dim = call.arguments[1].toInt();
  return {matched(Pass::kForward, ArgMaxShape{.sizes = tensor_sizes(x),
                                              .dim = c10::maybe_wrap_dim(dim, x.dim()),
                                              .keepdim = call.arguments[2].toBool()})};
}

}  // namespace

OpType arg_max_type() {
  return {.name = "arg_max",
          .op_class = OpClass::kReduction,
          .aten = {"argmax"},
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [5, 7], "dim": 1})",
                       R"({"sizes": [5, 1, 3], "dim": 0, "keepdim": true})"},
          .fields = fields_of<ArgMaxShape>,
          .make = make_op<ArgMax, ArgMaxShape>,
          .match = match_arg_max};
}

}  // namespace fathom::ops
