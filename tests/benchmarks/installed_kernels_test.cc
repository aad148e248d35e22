#include "benchmarks/tasks/installed_kernels.h"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace fathom::benchmarks
