// Tasks that run one op.
#include "benchmarks/tasks/op_task.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "fixtures/machine/device.h"
#include "ops/backends/vendor.h"
#include "ops/types/shapes.h"

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

/// Why the op of a shape does not run here.
std::string refusal(const std::string& shape) {
  const auto rows = ops::parse_shapes(
      R"({"workload": "w", "rows": [{"layer": "l", "count": 1, )" + shape + "}]}", "my.json");
  try {
    make_op_task(rows.at(0), {});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(OpTask, RefusesWhatTheMemoryCannotHold) {
  const std::string large =
      refusal(R"("op": "matmul", "pass": "forward", "m": 2147483648, "n": 2147483648, "k": 1)");
  EXPECT_TRUE(large.starts_with("the op with its check needs ")) << large;
  EXPECT_NE(large.find(" bytes of memory, but "), std::string::npos) << large;
  // Most of a table is never read.
  EXPECT_NE(refusal(R"("op": "embedding", "pass": "forward", "rows": 2147483648, "width": 1024,
                       "ids": 1)")
                .find("needs 35184372"),
            std::string::npos);
  // The cost is found without a visit to each output.
  EXPECT_NE(refusal(R"("op": "conv2d", "pass": "forward", "n": 2147483648, "c": 1, "k": 1,
                       "image": [2147483648, 1], "kernel": [1000000, 1])"),
            "");
  EXPECT_EQ(refusal(R"("op": "matmul", "pass": "forward", "m": 2, "n": 2, "k": 2)"), "");
}

TEST(OpTask, ReordersTheInputsOfLibTorchsOneDnnForEachThreadCount) {
  if (!ops::is_here(ops::Backend::kTorchPacked, fixtures::Device::kCpu))
    GTEST_SKIP() << "this LibTorch has no oneDNN";
  const auto rows = ops::parse_shapes(
      R"({"workload": "w", "rows": [{"op": "conv2d", "layer": "l", "pass": "forward", "count": 1,
          "n": 2, "c": 3, "k": 5, "image": [7, 6], "kernel": [3, 3], "bias": true}]})",
      "my.json");
  const auto task = make_op_task(rows.at(0), {.backend = ops::Backend::kTorchPacked});
  for (const int threads : {1, 2}) {
    fixtures::set_threads(threads);
    task->threads_changed();
    task->run();
    EXPECT_NO_THROW(task->check());
    const StepCounts counts = task->counts();
    EXPECT_EQ(counts.label, "mkldnn::_convolution_pointwise");
    EXPECT_EQ(counts.counters.back().first, "reorder_us");
    EXPECT_GT(counts.counters.back().second, 0);
  }
}

/// A channel of 8 million pixels.
TEST(OpTask, SaysWhyASumOfOneDnnIsInexact) {
  if (!ops::is_here(ops::Backend::kOneDnn, fixtures::Device::kCpu, fixtures::Precision::kFp32))
    GTEST_SKIP() << "built without oneDNN";
  fixtures::set_threads(1);
  const auto rows = ops::parse_shapes(
      R"({"workload": "w", "rows": [{"op": "batch_norm", "layer": "l", "pass": "forward",
          "count": 1, "sizes": [8, 1, 1000, 1000]}]})",
      "my.json");
  const auto task = make_op_task(rows.at(0), {.backend = ops::Backend::kOneDnn});
  task->threads_changed();
  task->run();
  try {
    task->check();
  } catch (const std::runtime_error& error) {
    const std::string why = error.what();
    EXPECT_NE(why.find("; oneDNN adds up each channel in float32"), std::string::npos) << why;
  }
}

}  // namespace
}  // namespace fathom::benchmarks
