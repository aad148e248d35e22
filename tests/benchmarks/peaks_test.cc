#include "benchmarks/machine/peaks.h"

#include <gtest/gtest.h>

#include "benchmarks/machine/multiply_add.h"

namespace fathom::benchmarks {
namespace {

using fixtures::Precision;

TEST(MultiplyAdd, ComputesBf16AtLeastAsWideAsFp32) {
  EXPECT_GE(widest_multiply_add(Precision::kBf16).flops_a_round,
            widest_multiply_add(Precision::kFp32).flops_a_round);
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
