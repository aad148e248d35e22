#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/movement/match_fill.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// Inputs {x}, outputs {x}, all of it one number.
class Fill final : public Op {
 public:
  explicit Fill(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}

  Cost cost(fixtures::Precision precision) const override {
    return {.flops = 0, .bytes = element_bytes(precision) * elements(sizes_)};
  }

  Tensors inputs(uint64_t seed) const override { return {Draws(seed).normal(sizes_)}; }

  Call call(const Tensors& in) const override {
    return [x = in[0]]() -> Tensors { return {x.fill_(1)}; };
  }

  bool in_place() const override { return true; }

 private:
  std::vector<int64_t> sizes_;
};

}  // namespace

std::unique_ptr<Op> make_fill(Fields& fields, Pass /*pass*/) {
  return std::make_unique<Fill>(fields.sizes("sizes"));
}

std::vector<SeenOp> recognise_fill(const Seen& seen) { return recognise_factory("fill", seen); }

}  // namespace fathom::ops
