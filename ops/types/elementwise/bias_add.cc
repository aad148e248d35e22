#include <ATen/ops/add.h>

#include "ops/core/buffer.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// A layer's bias on its own: inputs {x [..., C], bias [C]}, outputs {x + bias}.
class BiasAdd final : public Op {
 public:
  explicit BiasAdd(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}

  Cost cost(fixtures::Precision precision) const override {
    const double count = elements(sizes_);
    return {.flops = count,
            .bytes = element_bytes(precision) * (2 * count + static_cast<double>(sizes_.back()))};
  }

  Tensors inputs(uint64_t seed) const override {
    Draws draw(seed);
    return {draw.normal(sizes_), draw.normal({sizes_.back()})};
  }

  Call call(const Tensors& in) const override {
    return [x = in[0], bias = in[1]]() -> Tensors { return {at::add(x, bias)}; };
  }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kOneDnn}; }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    std::vector<int64_t> row(sizes_.size(), 1);
    row.back() = sizes_.back();
    return BinaryProblem{.kind = BinaryProblem::Kind::kAdd,
                         .a = buffer(in[0]),
                         .b = buffer(in[1].view(row)),
                         .out = buffer(out[0])};
  }

 private:
  std::vector<int64_t> sizes_;
};

}  // namespace

std::unique_ptr<Op> make_bias_add(Fields& fields, Pass /*pass*/) {
  return std::make_unique<BiasAdd>(fields.sizes("sizes"));
}

/// LibTorch has no op of it: it is seen as add, or within addmm.
std::vector<SeenOp> recognise_bias_add(const Seen& /*seen*/) { return {}; }

}  // namespace fathom::ops
