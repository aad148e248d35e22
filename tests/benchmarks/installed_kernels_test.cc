#include "benchmarks/tasks/installed_kernels.h"

#include <gtest/gtest.h>

#include <vector>

namespace fathom::benchmarks {
namespace {

/// What fastest_seconds() returns if the steps take these times, and how many of them it runs.
struct Fastest {
  explicit Fastest(std::vector<StepSeconds> all)
      : seconds(fastest_seconds([&] { return all.at(steps++); })) {}

  std::size_t steps = 0;
  double seconds;
};

TEST(FastestSeconds, AreOfTwoShortStepsOrOneLongOne) {
  const Fastest short_steps({{.wall = 0.03}, {.wall = 0.02}, {.wall = 0.01}});
  EXPECT_EQ(short_steps.steps, 2U);
  EXPECT_DOUBLE_EQ(short_steps.seconds, 0.02);
  const Fastest long_steps({{.wall = 2}, {.wall = 1}});
  EXPECT_EQ(long_steps.steps, 1U);
  EXPECT_DOUBLE_EQ(long_steps.seconds, 2);
}

TEST(FastestSeconds, AreTakenAgainWhereOthersTookTime) {
  const Fastest undisturbed({{.wall = 2.5, .taken = 0.3}, {.wall = 2.3, .taken = 0.1}, {}});
  EXPECT_EQ(undisturbed.steps, 2U);
  EXPECT_DOUBLE_EQ(undisturbed.seconds, 2.3);
  const Fastest never(
      {{.wall = 2.5, .taken = 1}, {.wall = 2.4, .taken = 1}, {.wall = 9, .taken = 1}});
  EXPECT_EQ(never.steps, 3U);
  EXPECT_DOUBLE_EQ(never.seconds, 2.4);
}

}  // namespace
}  // namespace fathom::benchmarks
