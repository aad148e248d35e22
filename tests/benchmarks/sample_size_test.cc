#include "benchmarks/measure/sample_size.h"

#include <gtest/gtest.h>

#include "benchmarks/measure/step_profile.h"

namespace fathom::benchmarks {
namespace {

/// A GPU on which a step takes `step` seconds and a wait for it `wait` more, on a clock of its own.
class FakeGpu {
 public:
  FakeGpu(double step, double wait) : step_(step), wait_(wait) {}

  double burst(int64_t steps) {
    ++bursts;
    return static_cast<double>(steps) * step_ + wait_;
  }
  int64_t steps_per_sample() {
    return benchmarks::steps_per_sample(1e-3, [this](int64_t steps) { return burst(steps); });
  }

  int bursts = 0;

 private:
  double step_;
  double wait_;
};

TEST(StepsPerSample, FillTheSampleWithoutTheWait) {
  FakeGpu gpu(4e-6, 15e-6);  // 19 us where each step is waited for
  const int64_t steps = gpu.steps_per_sample();
  EXPECT_GE(static_cast<double>(steps), (1e-3 - 15e-6) / 4e-6);
  EXPECT_LE(static_cast<double>(steps), 1.05e-3 / 4e-6);
  EXPECT_LE(gpu.bursts, 8);
}

TEST(StepsPerSample, IsOneForALongStep) {
  FakeGpu gpu(2e-3, 15e-6);
  EXPECT_EQ(gpu.steps_per_sample(), 1);
  EXPECT_EQ(gpu.bursts, 1);
}

TEST(StepsPerSample, EndsWhereAStepTakesNoTime) {
  EXPECT_EQ(FakeGpu(0, 0).steps_per_sample(), 1'000'000);
  EXPECT_EQ(FakeGpu(0, 1e-6).steps_per_sample(), 1'000'000);
}

TEST(GpuBusy, IsAShareOfTheTimedStep) {
  const StepProfile profile{
      .steps = 4,
      .cpu_seconds = 0,
      .ops = {.ops = {}, .seconds = 40e-3, .gpu_seconds = 2e-3},  // 10 ms a profiled step
      .series = {}};
  EXPECT_DOUBLE_EQ(gpu_busy_pct(profile, 1000).value(), 50);
  const StepProfile on_cpu{
      .steps = 4, .cpu_seconds = 0, .ops = {.ops = {}, .seconds = 40e-3}, .series = {}};
  EXPECT_EQ(gpu_busy_pct(on_cpu, 1000), std::nullopt);
}

TEST(GpuBusy, LeavesTheRestOfATimedStepToTheFramework) {
  StepProfile profile{
      .steps = 4,
      .cpu_seconds = 30e-3,
      .ops = {.ops = {{.type = "framework", .op_class = ops::OpClass::kFramework, .seconds = 38e-3},
                      {.type = "matmul", .op_class = ops::OpClass::kMatrix, .seconds = 2e-3}},
              .seconds = 40e-3,
              .gpu_seconds = 2e-3},
      .series = {}};
  set_step_time(profile, 900);
  EXPECT_DOUBLE_EQ(profile.ops.seconds, 3.6e-3);
  EXPECT_DOUBLE_EQ(profile.cpu_seconds, 2.7e-3) << "three quarters, as before";
  EXPECT_EQ(profile.ops.ops[0].type, "matmul");
  EXPECT_DOUBLE_EQ(profile.ops.ops[0].seconds, 2e-3);
  EXPECT_NEAR(profile.ops.ops[1].seconds, 1.6e-3, 1e-12);
  set_step_time(profile, 100);  // shorter than the GPU is busy
  EXPECT_NEAR(profile.ops.ops[1].seconds, 0, 1e-12);
}

/// 0.5^5 and 0.95^59 are the first powers of at most 0.05.
TEST(Samples, BoundAMedianFrom5OnAndA95thPercentileFrom59On) {
  EXPECT_FALSE(bound_percentile(4, 0.50));
  EXPECT_TRUE(bound_percentile(5, 0.50));
  EXPECT_FALSE(bound_percentile(58, 0.95));
  EXPECT_TRUE(bound_percentile(59, 0.95));
}

}  // namespace
}  // namespace fathom::benchmarks
