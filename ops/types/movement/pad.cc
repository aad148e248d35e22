#include <ATen/ops/constant_pad_nd.h>

#include <algorithm>

#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct PadShape {
  Sizes sizes;
  Sizes padding;

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.counts("padding", padding);
    fields.require(padding.size() % 2 == 0 && padding.size() <= 2 * sizes.size(),
                   "\"padding\" is not a list of pairs, at most one per dimension of \"sizes\"");
  }
};

/// Inputs {x}, outputs {x, padded with zeros}. `padding` is listed as in LibTorch: before and
/// after, from the last dimension backwards.
class Pad final : public Op {
 public:
  Pad(PadShape shape, Pass /*pass*/)
      : sizes_(std::move(shape.sizes)), padding_(std::move(shape.padding)) {}

  Cost cost(fixtures::Precision precision) const override {
    auto padded = sizes_;
    for (std::size_t i = 0; i < padding_.size(); ++i)
      padded[padded.size() - 1 - i / 2] += padding_[i];
    return {.flops = 0, .bytes = element_bytes(precision) * (elements(sizes_) + elements(padded))};
  }

  Tensors inputs(uint64_t seed) const override { return {RandomInputs(seed).normal(sizes_)}; }

  Call call(const Tensors& in) const override {
    return [x = in[0], padding = padding_]() -> Tensors {
      return {at::constant_pad_nd(x, padding, 0)};
    };
  }

 private:
  Sizes sizes_;
  Sizes padding_;
};

/// pad(x, padding, mode, value), constant_pad_nd(x, padding, value). Returns nothing for negative
/// padding, which gradients have: it crops.
std::vector<MatchedOp> match_pad(const ObservedCall& call) {
  const bool any_mode = call.name == "aten::pad";
  if (!is_plain(call.arguments[0]) ||
      (any_mode && call.arguments[2].toStringView() != "constant")) {
    return {};
  }
  const Sizes padding = call.arguments[1].toIntVector();
  if (std::any_of(padding.begin(), padding.end(), [](int64_t one) { return one < 0; })) return {};
  return {matched(Pass::kForward, PadShape{.sizes = tensor_sizes(call.arguments[0].toTensor()),
                                           .padding = padding})};
}

}  // namespace

OpType pad_type() {
  return {.name = "pad",
          .op_class = OpClass::kMovement,
          .aten = {"pad", "constant_pad_nd"},
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [2, 3, 5], "padding": [1, 2, 0, 3]})"},
          .fields = fields_of<PadShape>,
          .make = make_op<Pad, PadShape>,
          .match = match_pad};
}

}  // namespace fathom::ops
