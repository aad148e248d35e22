#include "benchmarks/machine/gpu/nvml.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "benchmarks/machine/energy.h"
#include "benchmarks/machine/gpu/gpu_sampler.h"
#include "benchmarks/output/context/context.h"
#include "fixtures/machine/device.h"

// Runs with fake_nvml.cc in place of NVIDIA's library.

namespace fathom::benchmarks {
namespace {

class NvmlTest : public testing::Test {
 protected:
  const std::unique_ptr<const Nvml> gpu = Nvml::open("0000:3b:00.0");
};

TEST_F(NvmlTest, FindsTheGpuByItsBus) {
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->energy(), 12.5) << "the GPU at index 0 reports no energy";
  EXPECT_EQ(Nvml::open("0000:00:00.0"), nullptr);
}

TEST_F(NvmlTest, IsAbsentWhereCudaHasNoGpu) {
  if (fixtures::unavailable_reason(fixtures::Device::kCuda).empty())
    GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(Nvml::get(), nullptr);
}

TEST_F(NvmlTest, ReturnsTheValuesOfTheLibrary) {
  EXPECT_EQ(gpu->clock_mhz(), 1500U);
  EXPECT_DOUBLE_EQ(gpu->power_w().value(), 300);
  EXPECT_EQ(gpu->throttles().value().size() + gpu->throttles().value().size(), 2U);
}

TEST_F(NvmlTest, LeavesOutValuesThatTheLibraryRefuses) {
  EXPECT_EQ(gpu->highest_clock_mhz(), std::nullopt);
}

TEST_F(NvmlTest, GivesTheEnergyOfAGpu) {
  const Energy energy(fixtures::Device::kCuda, "/", gpu.get());
  EXPECT_EQ(energy.joules(), std::nullopt) << "the counter has not moved";
  setenv("FAKE_NVML_MORE_MILLIJOULES", "250", 1);
  EXPECT_DOUBLE_EQ(energy.joules().value(), 0.25);
  unsetenv("FAKE_NVML_MORE_MILLIJOULES");
  EXPECT_EQ(Energy(fixtures::Device::kCuda, "/", nullptr).joules(), std::nullopt);
}

TEST_F(NvmlTest, GivesTheSettingsThatItKnows) {
  const ContextEntries known{{"gpu_driver", "580.65.06"},  {"gpu_persistence", "on"},
                             {"gpu_mig", "off"},           {"gpu_ecc", "on"},
                             {"gpu_power_limit_w", "350"}, {"gpu_application_clock_mhz", "1755"}};
  EXPECT_EQ(gpu_settings(*gpu), known);
}

TEST_F(NvmlTest, SamplesPowerClockAndThrottling) {
  GpuSampler sampler(gpu.get(), std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const GpuState& state = sampler.stop();
  EXPECT_DOUBLE_EQ(state.power_w.value().value(), 300);
  EXPECT_DOUBLE_EQ(state.clock_mhz.value().value(), 1500);
  EXPECT_GE(state.throttle_samples, 2);
  ASSERT_EQ(state.throttles.size(), 2U);
  EXPECT_TRUE(state.throttles.contains("sw_thermal"));
  EXPECT_NEAR(state.throttles.at("power_cap"), state.throttle_samples / 2.0, 0.6);
}

TEST_F(NvmlTest, KnowsNothingWithoutASample) {
  GpuSampler none(nullptr);
  EXPECT_EQ(none.stop().power_w.value(), std::nullopt);
  GpuSampler late(gpu.get(), std::chrono::hours(1));
  EXPECT_EQ(late.stop().clock_mhz.value(), std::nullopt);
  EXPECT_EQ(late.stop().throttle_samples, 0);
}

}  // namespace
}  // namespace fathom::benchmarks
