#include <ATen/ops/constant_pad_nd.h>

#include <algorithm>

#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// Inputs {x}, outputs {x with zeros around it}. Padding as LibTorch lists it: before and after,
/// from the last dimension on.
class Pad final : public Op {
 public:
  Pad(std::vector<int64_t> sizes, std::vector<int64_t> padding)
      : sizes_(std::move(sizes)), padding_(std::move(padding)) {}

  Cost cost(fixtures::Precision precision) const override {
    auto padded = sizes_;
    for (std::size_t i = 0; i < padding_.size(); ++i)
      padded[padded.size() - 1 - i / 2] += padding_[i];
    return {.flops = 0, .bytes = element_bytes(precision) * (elements(sizes_) + elements(padded))};
  }

  Tensors inputs(uint64_t seed) const override { return {Draws(seed).normal(sizes_)}; }

  Call call(const Tensors& in) const override {
    return [x = in[0], padding = padding_]() -> Tensors {
      return {at::constant_pad_nd(x, padding, 0)};
    };
  }

 private:
  std::vector<int64_t> sizes_;
  std::vector<int64_t> padding_;
};

}  // namespace

std::unique_ptr<Op> make_pad(Fields& fields, Pass /*pass*/) {
  auto sizes = fields.sizes("sizes");
  auto padding = fields.counts("padding");
  if (padding.size() % 2 != 0 || padding.size() > 2 * sizes.size())
    fields.fail("\"padding\" does not hold pairs of at most the dimensions of \"sizes\"");
  return std::make_unique<Pad>(std::move(sizes), std::move(padding));
}

/// pad(x, padding, mode, value), constant_pad_nd(x, padding, value). Gradients cut: their padding
/// is below 0, and LibTorch does it without writing.
std::vector<SeenOp> recognise_pad(const Seen& seen) {
  const bool any_mode = seen.name == "aten::pad";
  if ((!any_mode && seen.name != "aten::constant_pad_nd") || !is_plain(seen.arguments[0]) ||
      (any_mode && seen.arguments[2].toStringView() != "constant")) {
    return {};
  }
  const auto padding = seen.arguments[1].toIntVector();
  if (std::any_of(padding.begin(), padding.end(), [](int64_t one) { return one < 0; })) return {};
  nlohmann::ordered_json fields;
  fields["sizes"] = extents(seen.arguments[0].toTensor());
  fields["padding"] = padding;
  return {{Pass::kForward, fields}};
}

}  // namespace fathom::ops
