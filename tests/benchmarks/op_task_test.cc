// Tasks that run one op.
#include "benchmarks/tasks/op_task.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

namespace fathom::benchmarks {
namespace {

/// Its input is the seed. A call stores its input in `found`.
class SeededOp final : public ops::Op {
 public:
  explicit SeededOp(double& found) : found_(found) {}

  ops::Cost cost(fixtures::Precision /*precision*/) const override {
    return {.flops = 0, .bytes = 4};
  }
  ops::Tensors inputs(uint64_t seed) const override {
    return {at::full({1}, static_cast<double>(seed))};
  }
  ops::Call call(const ops::Tensors& in) const override {
    return [this, x = in[0]]() -> ops::Tensors {
      found_ = x.item<double>();
      return {x};
    };
  }

 private:
  double& found_;
};

TEST(OpTask, HasTheInputsOfItsSeed) {
  double found = 0;
  ops::ShapeRow row{};
  row.op = std::make_shared<SeededOp>(found);
  for (const uint64_t seed : {1U, 2U, 1U}) {
    make_op_task(row, {.seed = seed})->run();
    EXPECT_EQ(found, static_cast<double>(seed));
  }
}

}  // namespace
}  // namespace fathom::benchmarks
