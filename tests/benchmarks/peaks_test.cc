#include "benchmarks/machine/peaks.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/machine/gpu/gpu_peaks.h"
#include "benchmarks/machine/multiply_add.h"
#include "benchmarks/output/files/peaks_json.h"
#include "ops/core/kernel.h"
#include "ops/profiler/profile.h"

namespace fathom::benchmarks {
namespace {

using fixtures::Precision;

TEST(Caches, AreReachedByTheThreadsThatShareThem) {
  const std::vector<benchmark::CPUInfo::CacheInfo> levels{
      {.type = "Unified", .level = 2, .size = 1 << 20, .num_sharing = 1},
      {.type = "Unified", .level = 3, .size = 4 << 20, .num_sharing = 4}};
  EXPECT_EQ(largest_reached_bytes(levels, 1), 4 << 20);
  EXPECT_EQ(largest_reached_bytes(levels, 4), 4 << 20);
  EXPECT_EQ(largest_reached_bytes(levels, 5), 8 << 20);
  EXPECT_EQ(largest_reached_bytes({levels[0]}, 3), 3 << 20);
}

TEST(MultiplyAdd, ComputesSixteenBitsAtLeastAsWideAsFp32) {
  for (const auto precision : {Precision::kBf16, Precision::kFp16}) {
    EXPECT_GE(widest_multiply_add(precision).flops_a_round,
              widest_multiply_add(Precision::kFp32).flops_a_round);
  }
}

TEST(MultiplyAdd, CountsTwoFlopsForEachLaneOfEachChain) {
  const std::map<std::string, int> lanes{
      {"avx2", 8}, {"avx512f", 16}, {"avx512bf16", 32}, {"avx512fp16", 32}};
  for (const auto precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
    const MultiplyAdd loop = widest_multiply_add(precision);
    if (loop.run == nullptr) GTEST_SKIP() << "this CPU has no known multiply-add";
    // A chain's first lane begins at 1; a round of fp32 or fp16 halves it and adds 1, one of bf16
    // adds 0.
    const float chains = loop.run(1) / (loop.name == "avx512bf16" ? 1.0F : 1.5F);
    EXPECT_EQ(loop.flops_a_round, 2.0 * lanes.at(loop.name) * chains) << loop.name;
  }
}

TEST(MultiplyAdd, RunsEveryRound) {
  const MultiplyAdd loop = widest_multiply_add(Precision::kFp32);
  if (loop.run == nullptr) GTEST_SKIP() << "this CPU has no known multiply-add";
  // 1 becomes 1.5 after one round, 1.75 after two, 1.875 after three.
  EXPECT_EQ(loop.run(2) / loop.run(1), 1.75F / 1.5F);
  EXPECT_EQ(loop.run(3) / loop.run(1), 1.875F / 1.5F);
}

TEST(MultiplyAdd, RateGrowsWithThreadsAndRounds) {
  EXPECT_DOUBLE_EQ(multiply_add_rate(192, 1000, 1, 0.5), 384e3);
  EXPECT_DOUBLE_EQ(multiply_add_rate(192, 1000, 2, 0.5), 768e3);
  EXPECT_DOUBLE_EQ(multiply_add_rate(192, 3000, 2, 0.25), 4608e3);
}

TEST(MemoryKernels, CountReadAndWrittenBuffers) {
  const double buffer = 1e6;
  EXPECT_DOUBLE_EQ(memory_rate(kRead, buffer, 0.5), 2e6);
  EXPECT_DOUBLE_EQ(memory_rate(kCopy, buffer, 0.5), 4e6) << "reads one, writes one";
  EXPECT_DOUBLE_EQ(memory_rate(kScale, buffer, 0.5), 4e6) << "reads and writes one";
  EXPECT_DOUBLE_EQ(memory_rate(kAdd, buffer, 0.5), 6e6) << "reads two, writes one";
}

TEST(LargestProduct, IsSmallerWhereMemoryIsLacking) {
  const std::vector<int64_t> sides{8, 4, 2};
  const auto flops = [](int64_t limit) {
    return [limit](int64_t side) {
      if (side == limit + limit) throw ops::OutOfMemory("cuBLAS");
      TORCH_CHECK_WITH(OutOfMemoryError, side <= limit, "LibTorch");
      return static_cast<double>(side);
    };
  };
  EXPECT_EQ(first_that_runs(sides, flops(8)), 8);
  EXPECT_EQ(first_that_runs(sides, flops(4)), 4);
  EXPECT_EQ(first_that_runs(sides, flops(2)), 2);
  EXPECT_EQ(first_that_runs(sides, flops(1)), 0);
}

TEST(LargestProduct, HidesNoOtherError) {
  const std::vector<int64_t> sides{8, 4};
  const auto fail = [](int64_t) -> double { throw std::runtime_error("misaligned address"); };
  EXPECT_THROW(first_that_runs(sides, fail), std::runtime_error);
}

/// Both libraries multiply the same matrices: drawing them takes seconds at the GPU's size.
TEST(Peaks, DrawTheMatricesOnceATry) {
  Peaks peaks;
  const ops::Profile profile =
      ops::profile([&] { peaks.flops(fixtures::Device::kCpu, 1, Precision::kFp32); });
  const auto drawn = std::find_if(profile.ops.begin(), profile.ops.end(),
                                  [](const ops::OpTime& op) { return op.type == "normal"; });
  ASSERT_NE(drawn, profile.ops.end());
  EXPECT_EQ(drawn->count, 2 * peaks.flops(fixtures::Device::kCpu, 1, Precision::kFp32).tries);
}

TEST(Peak, IsTheBestThatWasReached) {
  Peak peak;
  peak.offer(2, "second");
  peak.offer(3, "first");
  peak.offer(1, "third");
  EXPECT_EQ(peak.rate, 3);
  EXPECT_EQ(peak.from, "first");
}

PeakTry reached(double rate, const char* from = "loop") {
  return {.peak = {.rate = rate, .from = from}};
}

PeakTry disturbed(double rate) {
  return {.peak = {.rate = rate, .from = "loop"}, .disturbed = true};
}

TEST(PeakTries, GiveTheBestAndTheirSpread) {
  const Peak peak = best_of(std::vector{reached(121e9), reached(201e9, "GEMM"), reached(198e9)});
  EXPECT_EQ(peak.rate, 201e9);
  EXPECT_EQ(peak.from, "GEMM");
  EXPECT_EQ(peak.tries, 3);
  EXPECT_NEAR(peak.spread_pct, 100 * (201 - 121) / 201.0, 1e-9);
}

TEST(PeakTries, GiveTheBestRateOfReading) {
  PeakTry slow;
  slow.peak.offer(kRead, /*buffer_bytes=*/40, /*seconds=*/1);
  PeakTry fast;
  fast.peak.offer(kRead, 50, 1);
  fast.peak.offer(kScale, 45, 1);
  const Peak peak = best_of(std::vector{fast, slow});
  EXPECT_EQ(peak.reading, 50);
  EXPECT_EQ(peak.rate, 90);
}

TEST(PeakTries, DontTakeWritingForReading) {
  Peak peak;
  peak.offer({.name = "fill", .passes = kRead.passes}, 40, 1);
  EXPECT_EQ(peak.reading, 0);
}

TEST(PeakTries, OfADisturbedMachineStillGiveTheBest) {
  EXPECT_EQ(best_of(std::vector{disturbed(121e9), disturbed(150e9)}).rate, 150e9);
}

TEST(PeakTries, WithoutAnyKernelGiveNoRate) {
  const Peak peak = best_of(std::vector{reached(0, ""), reached(0, "")});
  EXPECT_EQ(peak.rate, 0);
  EXPECT_EQ(peak.spread_pct, 0);
}

TEST(PeakTries, AgreeWhereTheTwoBestAreWithinTwoPercent) {
  EXPECT_FALSE(agree({}));
  EXPECT_FALSE(agree(std::vector{reached(200)}));
  EXPECT_FALSE(agree(std::vector{reached(200), reached(195)}));
  EXPECT_TRUE(agree(std::vector{reached(200), reached(197)}));
  EXPECT_TRUE(agree(std::vector{reached(197), reached(121), reached(200)}));
  EXPECT_FALSE(agree(std::vector{reached(121), reached(121), reached(200)})) << "the best two";
}

TEST(PeakTries, DoNotCountDisturbedOnesAsAgreeing) {
  EXPECT_FALSE(agree(std::vector{disturbed(121), disturbed(121)}));
  EXPECT_FALSE(agree(std::vector{reached(200), disturbed(199)}));
  EXPECT_TRUE(agree(std::vector{disturbed(121), reached(200), reached(199)}));
}

TEST(PeakScaling, IsDoubtfulBelowOnePointEight) {
  const auto doubt = [](double one, double two) {
    return scaling_doubt({.rate = one, .from = ""}, {.rate = two, .from = ""});
  };
  EXPECT_EQ(doubt(100e9, 180e9), "");
  EXPECT_EQ(doubt(0, 180e9), "") << "the peak of one thread is not known";
  const std::string found = doubt(118e9, 121e9);
  EXPECT_NE(found.find("121 GFLOP/s"), std::string::npos) << found;
  EXPECT_NE(found.find("118 GFLOP/s"), std::string::npos) << found;
  EXPECT_NE(found.find("share a core"), std::string::npos) << found;
}

TEST(PeakKey, IsTheKeyInTheContext) {
  const auto cpu = fixtures::Device::kCpu;
  EXPECT_EQ((PeakKey{cpu, 2, Precision::kBf16}.name()), "peak_flops_cpu_threads2_bf16");
  EXPECT_EQ((PeakKey{cpu, 4, std::nullopt}.name()), "peak_bytes_cpu_threads4");
}

TEST(Peaks, KeepThoseThatAreKnown) {
  const auto cpu = fixtures::Device::kCpu;
  const std::map<std::string, Peak> known{
      {"peak_flops_cpu_threads2_fp32", {.rate = 42, .from = "a file"}}};
  Peaks peaks(known);
  peaks.measure(std::vector{PeakKey{cpu, 2, Precision::kFp32}});
  EXPECT_EQ(peaks.flops(cpu, 2, Precision::kFp32).rate, 42);
}

TEST(Peaks, OfAFolderAreRefusedWithItsName) {
  try {
    read_peaks(testing::TempDir(), {});
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(testing::TempDir()), std::string::npos)
        << error.what();
  }
}

TEST(PeakText, HoldsRateKernelAndTries) {
  const Peak known{.rate = 118.25e9, .from = "oneDNN GEMM"};
  EXPECT_EQ(peak_text(known, /*flops=*/true), "118.2 GFLOP/s, oneDNN GEMM");
  Peak measured{.rate = 46.875e9, .from = "copy", .tries = 3, .spread_pct = 1.44};
  EXPECT_EQ(peak_text(measured, /*flops=*/false), "46.88 GB/s, copy, 3 tries within 1.4 %");
  measured.tries = 1;
  EXPECT_EQ(peak_text(measured, /*flops=*/false), "46.88 GB/s, copy, 1 try");
  measured.reading = 31e9;
  EXPECT_EQ(peak_text(measured, /*flops=*/false), "46.88 GB/s, copy, 1 try; reading alone 31 GB/s");
}

}  // namespace
}  // namespace fathom::benchmarks
