#include "benchmarks/tasks/installed_kernels.h"

#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <vector>

#include "fixtures/machine/device.h"
#include "models/table.h"
#include "ops/backends/operators/kernel_set.h"

namespace fathom::benchmarks {
namespace {

/// What fastest_us() returns if the steps take these times, and how many of them it runs.
struct Fastest {
  explicit Fastest(std::vector<Timing> all) : us(fastest_us([&] { return all.at(steps++); })) {}

  std::size_t steps = 0;
  double us;
};

TEST(FastestStep, IsOneOfTwoShortStepsOrTheFirstLongOne) {
  const Fastest short_steps({{.us = 0.03e6}, {.us = 0.02e6}, {.us = 0.01e6}});
  EXPECT_EQ(short_steps.steps, 2U);
  EXPECT_DOUBLE_EQ(short_steps.us, 0.02e6);
  const Fastest long_steps({{.us = 2e6}, {.us = 1e6}});
  EXPECT_EQ(long_steps.steps, 1U);
  EXPECT_DOUBLE_EQ(long_steps.us, 2e6);
}

TEST(FastestStep, IsSoughtAgainWhereOthersTookTime) {
  const Fastest second({{.us = 2.5e6, .taken_us = 0.3e6}, {.us = 2.3e6, .taken_us = 0.1e6}, {}});
  EXPECT_EQ(second.steps, 2U);
  EXPECT_DOUBLE_EQ(second.us, 2.3e6);
  const Fastest never({{.us = 2.5e6, .taken_us = 1e6},
                       {.us = 2.4e6, .taken_us = 1e6},
                       {.us = 9e6, .taken_us = 1e6}});
  EXPECT_EQ(never.steps, 3U);
  EXPECT_DOUBLE_EQ(never.us, 2.4e6);
}

/// Replaces nothing and counts the rounds: one when a step is built, one after a step on each
/// batch.
class NoKernels final : public ops::KernelSet {
 public:
  explicit NoKernels(fixtures::Device device) : KernelSet("none", {{device, {}}}) {}

  bool chooses() const override { return true; }
  void install(const std::vector<ops::ChosenKernel>* /*recorded*/) override {}
  ops::Round end_round() override { return {.number = rounds++}; }

  int rounds = 0;
};

/// How many layouts a step of a network with convolutions is tried in.
int layouts_tried(models::Layout asked_for) {
  NoKernels kernels(fixtures::Device::kCpu);
  const models::StepOptions options{
      .mode = models::Mode::kInfer, .scale = models::Scale::kSmall, .layout = asked_for};
  install(kernels, models::workload("deepq"), options, /*cuda_graph=*/false, /*recorded=*/nullptr);
  return kernels.rounds / 2;
}

TEST(InstalledKernels, ChooseTheLayoutUnlessItIsAskedFor) {
  EXPECT_EQ(layouts_tried(models::Layout::kContiguous), 2);
  EXPECT_EQ(layouts_tried(models::Layout::kChannelsLast), 1);
}

/// There is no GPU, or the step reads the number of regions on the host.
TEST(InstalledKernels, RunWithoutACudaGraphWhereAStepCannotBeCaptured) {
  using fixtures::Device;
  const bool gpu = fixtures::unavailable_reason(Device::kCuda).empty();
  const Device device = gpu ? Device::kCuda : Device::kCpu;
  NoKernels kernels(device);
  const models::StepOptions options{.mode = models::Mode::kInfer,
                                    .device = device,
                                    .scale = models::Scale::kSmall,
                                    .layout = models::Layout::kContiguous};
  const auto installed = install(kernels, models::workload("faster_rcnn"), options,
                                 /*cuda_graph=*/true, /*recorded=*/nullptr);
  ASSERT_TRUE(installed.choice);
  EXPECT_FALSE(installed.choice->cuda_graph);
}

TEST(ComparedSteps, AreOfTheSameNetwork) {
  const models::StepOptions options{.mode = models::Mode::kInfer, .scale = models::Scale::kSmall};
  const models::WorkloadRow& network = models::workload("autoenc");
  EXPECT_GT(compare_steps(network, network, options), 0);
  models::WorkloadRow other = network;
  other.make = [](models::Scale scale) {
    auto changed = models::workload("autoenc").make(scale);
    const c10::AutoGradMode no_gradient(false);
    changed->module().parameters()[0].mul_(1.5);
    return changed;
  };
  EXPECT_THROW(compare_steps(network, other, options), std::runtime_error);
}

}  // namespace
}  // namespace fathom::benchmarks
