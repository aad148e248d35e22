#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/explain/explain.h"
#include "benchmarks/explain/explainer.h"
#include "benchmarks/output/reporter.h"

namespace fathom::benchmarks {
namespace {

TEST(Contradictions, OfAnOpNeedMoreThanDispatch) {
  EXPECT_TRUE(hot_contradicts_step(5000, 30, 1)) << "an update of a few parameters, disturbed";
  EXPECT_FALSE(hot_contradicts_step(140, 100, 1)) << "noise";
  EXPECT_TRUE(hot_contradicts_step(160, 100, 1));
  EXPECT_FALSE(hot_contradicts_step(160, 100, 10)) << "6 us a call may be dispatch";
  EXPECT_FALSE(hot_contradicts_step(100, 500, 1)) << "the step found its data in memory";
}

TEST(Contradictions, OfAStepAllowWhatProfilingAdds) {
  EXPECT_TRUE(profile_contradicts_step(6200, 3600, 100)) << "profiling shortens no step";
  EXPECT_FALSE(profile_contradicts_step(3600, 3600, 100));
  EXPECT_FALSE(profile_contradicts_step(1200, 1000, 10)) << "noise";
  EXPECT_FALSE(profile_contradicts_step(200, 550, 100)) << "a short step of many small ops";
  EXPECT_TRUE(profile_contradicts_step(200, 700, 100));
  EXPECT_TRUE(profile_contradicts_step(2200, 3600, 10)) << "the profiled step was disturbed";
}

TEST(Timings, AreBetterWhereOthersTookLess) {
  const Timing calm{.us = 120, .taken_us = 1};
  const Timing shorter{.us = 110, .taken_us = 2};
  const Timing disturbed{.us = 100, .taken_us = 40};
  const Timing more{.us = 90, .taken_us = 50};
  EXPECT_FALSE(calm.disturbed());
  EXPECT_TRUE(disturbed.disturbed());
  EXPECT_TRUE(is_better(calm, disturbed));
  EXPECT_TRUE(is_better(disturbed, more));
  EXPECT_TRUE(is_better(shorter, calm)) << "both are calm";
  EXPECT_TRUE(is_better(Timing{.us = 90}, Timing{.us = 100})) << "it is not known";
}

TEST(Timings, AreLengthenedByTwiceTheMeanAtMost) {
  EXPECT_EQ((Timing{.us = 100, .taken_us = 30}).least_us(), 40);
  EXPECT_EQ((Timing{.us = 100, .taken_us = 60}).least_us(), 0);
  EXPECT_EQ((Timing{.us = 100}).least_us(), 100);
}

/// A step whose timed samples are long while `slow` says so.
class MeasuredAgain : public testing::Test {
 protected:
  class Step final : public Task {
   public:
    explicit Step(const bool& is_long) : is_long_(is_long) {}
    void run() override {
      std::this_thread::sleep_for(std::chrono::milliseconds(is_long_ ? 200 : 60));
    }
    void check() override {}
    void check_finite() override {}
    StepCounts counts() const override { return {}; }

   private:
    const bool& is_long_;
  };

  MeasuredAgain() {
    std::vector<RowRecord> records(1);
    Reporter reporter(rows, records, {&explainer}, [] {});
    loop.run_all(rows, records, reporter);
  }
  Explanation explanation() const { return explainer.explanations(step).at(0); }

  bool slow = true;
  bool is_long = false;
  int timed = 0;
  StepName step{.workload = "net", .mode = models::Mode::kTrain};
  std::vector<Row> rows{{.name = "net/train",
                         .subject = "net",
                         .make = [this](const Row&) { return std::make_unique<Step>(is_long); },
                         .profiling = Profiling::kOpShapes}};
  Explainer explainer{rows};
  Peaks peaks;
  Loop loop{peaks, [this](const Row&, const std::string& stage) {
              timed += stage == "timing" ? 1 : 0;
              is_long = slow && stage == "timing";
            }};
};

TEST_F(MeasuredAgain, KeepsTheBetterMeasurement) {
  ASSERT_TRUE(explanation().contradicts());
  EXPECT_TRUE(explanation().measured_again.empty());
  slow = false;
  explainer.measure_again(step, loop);
  EXPECT_FALSE(explanation().contradicts());
  EXPECT_LT(explanation().step_us.value(), 200e3);
  EXPECT_EQ(explanation().measured_again, std::vector<std::string>{"net/train"});
}

TEST_F(MeasuredAgain, EndsAfterThreeFurtherMeasurements) {
  explainer.measure_again(step, loop);
  EXPECT_TRUE(explanation().contradicts());
  EXPECT_EQ(timed, 4);
}

}  // namespace
}  // namespace fathom::benchmarks
