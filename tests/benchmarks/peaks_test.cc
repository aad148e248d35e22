#include "benchmarks/machine/peaks.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "benchmarks/machine/multiply_add.h"

namespace fathom::benchmarks {
namespace {

using fixtures::Precision;

TEST(MultiplyAdd, ComputesBf16AtLeastAsWideAsFp32) {
  EXPECT_GE(widest_multiply_add(Precision::kBf16).flops_a_round,
            widest_multiply_add(Precision::kFp32).flops_a_round);
}

TEST(MultiplyAdd, CountsTwoFlopsForEachLaneOfEachChain) {
  const std::map<std::string, int> lanes{{"avx2", 8}, {"avx512f", 16}, {"avx512bf16", 32}};
  for (const auto precision : {Precision::kFp32, Precision::kBf16}) {
    const MultiplyAdd loop = widest_multiply_add(precision);
    if (loop.run == nullptr) GTEST_SKIP() << "this CPU has no known multiply-add";
    // A chain's first lane begins at 1; a round of fp32 halves it and adds 1, one of bf16 adds 0.
    const float chains = loop.run(1) / (loop.name == "avx512bf16" ? 1.0F : 1.5F);
    EXPECT_EQ(loop.flops_a_round, 2.0 * lanes.at(loop.name) * chains) << loop.name;
  }
}

TEST(Peak, IsTheBestThatWasReached) {
  Peak peak;
  peak.offer(2, "second");
  peak.offer(3, "first");
  peak.offer(1, "third");
  EXPECT_EQ(peak.rate, 3);
  EXPECT_EQ(peak.from, "first");
}

}  // namespace
}  // namespace fathom::benchmarks
