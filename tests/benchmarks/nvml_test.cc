#include "benchmarks/machine/nvml.h"

#include <gtest/gtest.h>

#include "benchmarks/machine/energy.h"

// Runs with fake_nvml.cc in place of NVIDIA's library.

namespace fathom::benchmarks {
namespace {

TEST(Nvml, ReturnsTheValuesOfTheLibrary) {
  const Nvml* nvml = Nvml::get();
  ASSERT_NE(nvml, nullptr);
  EXPECT_EQ(nvml->energy(), 12.5);
  EXPECT_EQ(nvml->throttled(), true);
  EXPECT_EQ(nvml->clock_mhz(), 1500U);
}

TEST(Nvml, LeavesOutValuesThatTheLibraryRefuses) {
  EXPECT_EQ(Nvml::get()->highest_clock_mhz(), std::nullopt);
}

TEST(Nvml, GivesTheEnergyOfAGpu) {
  EXPECT_EQ(Energy(fixtures::Device::kCuda).joules(), 0) << "none since construction";
}

}  // namespace
}  // namespace fathom::benchmarks
