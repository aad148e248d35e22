#include "benchmarks/machine/standstill.h"

#include <gtest/gtest.h>

#include "benchmarks/measure/disturbed.h"

namespace fathom::benchmarks {
namespace {

constexpr Stretch kUsual{.steps = 1, .seconds = 0.5, .cpu_seconds = 1};  // on two busy cores

double found(const std::vector<Stretch>& timed, double taken = 0, bool waits = false) {
  return standstill(timed, kUsual, taken, waits);
}

TEST(Standstill, IsTimeThatAStretchIsLongerThanUsual) {
  EXPECT_NEAR(found({{1, 0.5, 1}, {1, 1.5, 1}, {1, 0.5, 1}}), 1, 1e-9);
}

TEST(Standstill, OfAnOnlyStepIsSeenBesideItsWarmUp) {
  EXPECT_NEAR(found({{1, 0.8, 1}}), 0.3, 1e-9);
}

TEST(Standstill, OfShortStepsIsSeenInTheirStretch) {
  std::vector<Stretch> timed(50, Stretch{.steps = 100, .seconds = 0.01, .cpu_seconds = 0.01});
  timed[20].seconds += 0.2;
  EXPECT_NEAR(standstill(timed, timed[0], 0, false), 0.2, 1e-9);
}

TEST(Standstill, IsNoStepThatComputesLonger) {
  EXPECT_EQ(found({{1, 0.5, 1}, {1, 1.5, 3}, {1, 0.5, 1}}), 0);
}

TEST(Standstill, IsNoTimeThatOthersTook) {
  const std::vector<Stretch> timed{{1, 0.5, 1}, {1, 1.5, 1}, {1, 0.5, 1}};
  EXPECT_EQ(found(timed, /*taken=*/1.2), 0);
  EXPECT_NEAR(found(timed, /*taken=*/0.3), 0.7, 1e-9);
}

TEST(Standstill, IsNoLateTimer) { EXPECT_EQ(found({{1, 0.5, 1}, {1, 0.515, 1}, {1, 0.5, 1}}), 0); }

TEST(Standstill, OfStepsThatWaitIsOverTwiceTheUsualTime) {
  EXPECT_EQ(found({{1, 0.5, 1}, {1, 0.9, 1}, {1, 0.5, 1}}, 0, /*waits=*/true), 0);
  EXPECT_NEAR(found({{1, 0.5, 1}, {1, 1.5, 1}, {1, 0.5, 1}}, 0, /*waits=*/true), 1, 1e-9);
}

/// Steps that sleep use so little CPU time that its share says nothing.
TEST(Standstill, IsNoSleepThatIsUsual) {
  EXPECT_EQ(found({{1, 0.5, 2e-5}, {1, 0.5, 9e-5}, {1, 0.5, 4e-5}}), 0);
}

TEST(Standstill, OfUnknownWorkIsWhatItDidNotRun) {
  EXPECT_NEAR(least_standstill({1, 2, 1}, 0.5), 0.5, 1e-9);
  EXPECT_EQ(least_standstill({1, 2, 1.99}, 0), 0);
}

TEST(Standstill, ChangesAResultFromFivePercentOn) {
  EXPECT_FALSE(is_long_standstill(0.05, 1));
  EXPECT_TRUE(is_long_standstill(0.051, 1));
}

TEST(Stretches, DivideStepsAndKeepTheLastOnes) {
  Stretches stretches;
  stretches.add(3, 0.004);
  stretches.add(3, 0.007);
  stretches.add(2, 0.001);
  const auto all = stretches.end();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].steps, 6);
  EXPECT_EQ(all[1].steps, 2);
}

using ReportedRun = benchmark::BenchmarkReporter::Run;

/// 100 steps of 1 ms on two threads, with these counters.
ReportedRun run(const benchmark::UserCounters& counters) {
  ReportedRun made;
  made.run_name.function_name = "vgg/train/device:cpu/threads:2/batch:8";
  made.run_type = ReportedRun::RT_Iteration;
  made.iterations = 100;
  made.real_accumulated_time = 0.1;
  made.counters = counters;
  return made;
}

TEST(Disturbed, IsARowThatLosesFivePercentOfEachThread) {
  EXPECT_FALSE(is_disturbed(run({{"stolen_us", 40}, {"waiting_us", 59}})));
  EXPECT_TRUE(is_disturbed(run({{"stolen_us", 40}, {"waiting_us", 61}})));
  EXPECT_TRUE(is_disturbed(run({{"standstill_us", 51}})));
  EXPECT_FALSE(is_disturbed(run({})));
}

TEST(Disturbed, IsARowOfWhichHalfOfTheStepsAre) {
  EXPECT_FALSE(is_disturbed(run({{"disturbed_steps", 49}})));
  EXPECT_TRUE(is_disturbed(run({{"disturbed_steps", 50}})));
}

/// The iterations of an aggregate are repetitions.
TEST(Disturbed, AreAggregatesByTheirTimeOnly) {
  ReportedRun mean = run({{"disturbed_steps", 50}, {"waiting_us", 99}});
  mean.run_type = ReportedRun::RT_Aggregate;
  mean.aggregate_name = "mean";
  EXPECT_FALSE(is_disturbed(mean));
  mean.counters["waiting_us"] = 101;
  EXPECT_TRUE(is_disturbed(mean));
  mean.aggregate_name = "stddev";
  EXPECT_FALSE(is_disturbed(mean));
}

}  // namespace
}  // namespace fathom::benchmarks
