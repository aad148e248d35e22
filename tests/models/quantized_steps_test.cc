#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <map>
#include <string>
#include <vector>

#include "fixtures/machine/device.h"
#include "models/step.h"
#include "models/table.h"
#include "ops/backends/onednn/library.h"
#include "ops/backends/operators/kernel_set.h"
#include "ops/core/check.h"
#include "ops/profiler/flops.h"
#include "ops/profiler/profile.h"
#include "ops/profiler/record.h"
#include "ops/types/quantized_rows.h"
#include "tests/benchmarks/own_process.h"

namespace fathom::models {
namespace {

using fixtures::Precision;
using enum fixtures::Precision;

constexpr auto kQuantized = {kInt8, kFp8, kInt8w, kInt4w, kQ8_0, kQ4_0};

Step small(const WorkloadRow& row, Precision precision) {
  return {row, {.mode = Mode::kInfer, .precision = precision, .batch = 2, .scale = Scale::kSmall}};
}

std::vector<ops::ShapeRow> recorded(Step& step) {
  ops::NamedTensors parameters;
  for (const auto& one : step.workload().module().named_parameters())
    parameters.emplace_back(one.key(), one.value());
  const auto run = ops::record([&] { step.run(); }, parameters);
  return ops::parse_shapes(ops::shapes_json("small", {}, run), "small");
}

/// The calls of each op by its shape; `only_quantized`: of those in a format.
std::map<std::string, int64_t> calls(const std::vector<ops::ShapeRow>& rows, bool only_quantized) {
  std::map<std::string, int64_t> counts;
  for (const auto& row : rows) {
    if (!only_quantized || row.op->only_precision()) counts[row.key()] += row.infer_count;
  }
  return counts;
}

std::string kernels(const Step& step) {
  return step.quantized() == nullptr ? "" : step.quantized()->kernels();
}

/// The steps of every workload, with quantised kernels installed: LibTorch's, or others.
class QuantizedSteps : public testing::TestWithParam<std::string> {
 protected:
  const WorkloadRow& row() const { return workload(GetParam()); }

  static void with_kernels(
      const std::function<void()>& part,
      std::shared_ptr<ops::KernelSet> (*made)() = [] { return ops::torch_quantized_kernels(); }) {
    benchmarks::in_own_process([&] {
      fixtures::set_threads(1);
      const auto kernels = made();
      kernels->install(nullptr);
      part();
    });
  }
};

std::vector<std::string> inferring() {
  std::vector<std::string> names;
  for (const auto& row : workloads()) {
    if (row.infers && row.quantizes && row.variant_of.empty()) names.push_back(row.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Table, QuantizedSteps, testing::ValuesIn(inferring()),
                         [](const auto& one) { return one.param; });

TEST_P(QuantizedSteps, RunTheOpsOfTheirRowsAndTheFlopsOfFp32) {
  with_kernels([&] {
    Step exact = small(row(), kFp32);
    const auto rows = recorded(exact);
    const double flops = ops::count_flops([&] { exact.run(); }).flops;
    for (const auto precision : kQuantized) {
      Step step = small(row(), precision);
      step.run();  // finds the ranges of activations
      const auto expected = ops::quantized_rows(rows, fixtures::Device::kCpu, precision);
      EXPECT_EQ(calls(recorded(step), true), calls(expected, true)) << name(precision);
      EXPECT_EQ(ops::count_flops([&] { step.run(); }).flops, flops) << name(precision);
      EXPECT_EQ(kernels(step).empty(), expected.empty()) << name(precision);
    }
  });
}

TEST_P(QuantizedSteps, StayCloseToFp32) {
  with_kernels([&] {
    Step exact = small(row(), kFp32);
    exact.run();
    for (const auto precision : kQuantized) {
      Step step = small(row(), precision);
      step.run();
      EXPECT_TRUE(at::isfinite(step.result()).all().item<bool>()) << name(precision);
      // Words that nmt has chosen differ after the first position.
      if (row().name == "nmt" || kernels(step).empty()) continue;
      const double distance = ops::relative_distance(step.result(), exact.result());
      const bool four_bits = precision == kInt4w || precision == kQ4_0;  // fp8's fractions have 3
      EXPECT_LT(distance, four_bits ? 0.5 : precision == kFp8 ? 0.3 : 0.1) << name(precision);
    }
  });
}

TEST_P(QuantizedSteps, StayCloseToFp32OnOneDnn) {
  if (ops::onednn::version().empty()) GTEST_SKIP() << "built without oneDNN";
  with_kernels(
      [&] {
        // The second step runs the kernels of the first one over other memory.
        const auto results = [&](Precision precision) {
          Step step = small(row(), precision);
          std::vector<at::Tensor> made;
          for (int i = 0; i < 2; ++i) {
            step.run();
            made.push_back(step.result().clone());
          }
          EXPECT_EQ(kernels(step).find("onednn::"), std::string::npos) << kernels(step);
          return made;
        };
        const auto exact = results(kFp32);
        const auto found = results(kInt8);
        if (row().name == "nmt") return;  // see above
        EXPECT_LT(ops::relative_distance(found[0], exact[0]), 0.1);
        // The second batch may leave the range of the first one, as wgan's does.
        EXPECT_LT(ops::relative_distance(found[1], exact[1]), 0.3);
      },
      [] { return ops::onednn_kernels(kInt8); });
}

TEST(QuantizedStep, ReadsItsPackedWeights) {
  benchmarks::in_own_process([] {
    const auto kernels = ops::torch_quantized_kernels();
    kernels->install(nullptr);
    Step step = small(workload("gpt2_decode"), kInt4w);
    EXPECT_EQ(step.quantized()->saved_bytes(), 0) << "before the first step";
    step.run();
    double matrices = 0;
    for (const auto& one : step.workload().module().named_parameters()) {
      if (one.value().dim() == 2 && one.key() != "wpe.weight")
        matrices += static_cast<double>(one.value().nbytes());
    }
    EXPECT_NEAR(step.quantized()->saved_bytes(), matrices * (1 - 0.625 / 4), 1);
  });
}

TEST(QuantizedStep, CountsItsTimeForTheQuantizedTypes) {
  benchmarks::in_own_process([] {
    const auto kernels = ops::torch_quantized_kernels();
    kernels->install(nullptr);
    Step step = small(workload("vgg"), kInt8);
    step.run();
    std::map<std::string, int64_t> counts;
    for (const auto& op : ops::profile([&] { step.run(); }).ops) counts[op.type] = op.count;
    EXPECT_EQ(counts["quantized_conv2d"], 16);
    EXPECT_EQ(counts["quantized_matmul"], 3);
    EXPECT_EQ(counts["quantize"], 19);
    EXPECT_EQ(counts["conv2d"], 0);
    EXPECT_EQ(counts["matmul"], 0);
  });
}

TEST(QuantizedStep, LeavesOtherStepsOfTheProcessInFp32) {
  benchmarks::in_own_process([] {
    fixtures::set_threads(1);
    Step before = small(workload("vgg"), kFp32);
    before.run();
    const auto kernels = ops::torch_quantized_kernels();
    kernels->install(nullptr);
    Step quantized = small(workload("vgg"), kInt8);
    quantized.run();
    Step after = small(workload("vgg"), kFp32);
    after.run();
    EXPECT_TRUE(after.result().equal(before.result()));
  });
}

TEST(QuantizedStep, ChoosesAmongQuantizedKernelsOnly) {
  benchmarks::in_own_process([] {
    fixtures::set_threads(1);
    const auto kernels = ops::tuned_kernels(fixtures::Device::kCpu, kInt4w);
    kernels->install(nullptr);
    Step step = small(workload("gpt2_decode"), kInt4w);
    for (int i = 0; i < 4 * 6; ++i) step.run();
    kernels->end_choice(kernels->end_round().number);
    step.run();
    std::map<std::string, int64_t> counts;
    for (const auto& op : ops::profile([&] { step.run(); }).ops) counts[op.type] = op.count;
    EXPECT_EQ(counts["matmul"], 0);
    EXPECT_EQ(counts["quantized_matmul"], 4 * 2 + 1);
  });
}

}  // namespace
}  // namespace fathom::models
