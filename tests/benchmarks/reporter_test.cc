#include "benchmarks/output/reporter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace fathom::benchmarks {
namespace {

using ReportedRun = RowResult::Run;

class Keep final : public ResultSink {
 public:
  explicit Keep(std::string& order, char mark) : order_(order), mark_(mark) {}
  void begin(const Context& /*context*/) override { order_ += mark_; }
  void add(const RowResult& result) override {
    order_ += mark_;
    results.push_back(result);
  }
  void end() override { order_ += mark_; }

  std::vector<RowResult> results;

 private:
  std::string& order_;
  char mark_;
};

class Reports : public testing::Test {
 protected:
  static ReportedRun run(int64_t row, int64_t repetition, int64_t repetitions) {
    ReportedRun made;
    made.run_name.function_name = row == 0 ? "first" : "second";
    made.family_index = row;
    made.repetition_index = repetition;
    made.repetitions = repetitions;
    made.iterations = 1;
    return made;
  }
  static std::vector<ReportedRun> repeated(int64_t row, int64_t repetitions) {
    std::vector<ReportedRun> runs;
    for (int64_t i = 0; i < repetitions; ++i) runs.push_back(run(row, i, repetitions));
    return runs;
  }
  static std::vector<ReportedRun> mean(int64_t row, int64_t repetitions) {
    ReportedRun made = run(row, ReportedRun::no_repetition_index, repetitions);
    made.run_type = ReportedRun::RT_Aggregate;
    made.aggregate_name = "mean";
    made.iterations = repetitions;
    return {made};
  }
  /// A pass with steps of `us` microseconds; matmul takes half of the time.
  static TimedPass pass(double us, int64_t iterations = 100) {
    const double seconds = us * 1e-6;
    StepProfile profile{.steps = 1, .cpu_seconds = seconds, .ops = {}, .series = {}};
    profile.ops.seconds = seconds;
    profile.ops.ops = {{.type = "matmul", .op_class = {}, .count = 1, .seconds = seconds / 2}};
    return {.iterations = iterations,
            .batch = {},
            .median_us = us,
            .samples = {},
            .op_types = profile,
            .op_shapes = {}};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& each : sink.results.back().runs) found.push_back(each.benchmark_name());
    return found;
  }

  std::string order;
  std::vector<Row> rows{{.name = "first"}, {.name = "second"}};
  std::vector<RowRecord> records{2};
  Keep sink{order, 'a'};
  Keep last{order, 'b'};
  Reporter reporter{rows, records, {&sink, &last}, [this] { order += '.'; }};
};

TEST_F(Reports, GoToTheSinksInTheirOrder) {
  reporter.ReportContext({});
  reporter.ReportRuns(repeated(0, 1));
  reporter.Finalize();
  EXPECT_EQ(order, ".ababab");
  EXPECT_EQ(sink.results.at(0).row, &rows[0]);
}

TEST_F(Reports, JoinRepetitionsAndAggregates) {
  reporter.ReportRuns(repeated(1, 3));
  EXPECT_TRUE(sink.results.empty());
  reporter.ReportRuns(mean(1, 3));
  ASSERT_EQ(sink.results.size(), 1U);
  EXPECT_EQ(names(), (std::vector<std::string>{"second", "second", "second", "second_mean"}));
}

TEST_F(Reports, DropTheRunsOfARowThatFailed) {
  records[0].failure = {.reason = "no memory", .repetition = 1};
  reporter.ReportRuns(repeated(0, 3));
  reporter.ReportRuns(mean(0, 3));
  ASSERT_EQ(sink.results.size(), 1U);
  EXPECT_TRUE(sink.results[0].runs.empty());
  const auto& run = sink.results[0].failure.value();
  EXPECT_EQ(failure(run), "no memory");
  EXPECT_EQ(run.repetition_index, 1);
}

TEST_F(Reports, ExpectNoAggregatesOfARowThatFailedAtFirst) {
  auto runs = repeated(0, 2);
  for (auto& run : runs) fail(run, "no memory");
  records[0].failure = {.reason = "no memory"};
  reporter.ReportRuns(runs);
  ASSERT_EQ(sink.results.size(), 1U);
  EXPECT_EQ(failure(sink.results[0].failure.value()), "no memory");
}

TEST_F(Reports, MayHaveAggregatesOnly) {
  reporter.ReportRuns(mean(0, 2));
  reporter.ReportRuns(mean(1, 2));
  EXPECT_EQ(sink.results.size(), 2U);
}

TEST_F(Reports, WithAggregatesOnlyHaveTheSamplesOfAllRepetitions) {
  rows[0].samples = true;
  for (const double us : {3, 4}) {
    TimedPass timed = pass(us);
    timed.samples = {.us = {us}};
    records[0].passes.push_back(timed);
  }
  reporter.ReportRuns(mean(0, 2));
  const std::string& lines = sink.results.at(0).samples;
  EXPECT_NE(lines.find("\"repetition\":0"), std::string::npos) << lines;
  EXPECT_NE(lines.find("\"repetition\":1"), std::string::npos) << lines;
}

TEST_F(Reports, HaveTheirSamplesOnce) {
  rows[0].samples = true;
  records[0].passes = {pass(3), pass(4)};
  for (auto& timed : records[0].passes) timed.samples = {.us = {5}};
  reporter.ReportRuns(repeated(0, 2));
  reporter.ReportRuns(mean(0, 2));
  const std::string& lines = sink.results.at(0).samples;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
}

TEST_F(Reports, KeepRowsWithoutAggregates) {
  reporter.ReportRuns(repeated(0, 2));
  reporter.ReportRuns(repeated(1, 2));
  EXPECT_EQ(sink.results.size(), 1U);
  reporter.Finalize();
  EXPECT_EQ(sink.results.size(), 2U);
}

TEST_F(Reports, UseTheLastPassesOfTheirOwnRow) {
  records[0].passes = {pass(1, 1), pass(2, 10), pass(10), pass(20)};
  for (const double us : {3, 30, 40}) records[1].passes.push_back(pass(us));  // interleaved
  reporter.ReportRuns(repeated(0, 2));
  reporter.ReportRuns(mean(0, 2));
  const auto& taken = sink.results.back().repetitions;
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].median_us, 10);
  EXPECT_TRUE(records[0].passes.empty());
  EXPECT_EQ(records[1].passes.size(), 3U);
}

TEST_F(Reports, HaveRowsOfOpTypesAfterRepetitionsAndAggregates) {
  for (const double us : {10, 20}) records[0].passes.push_back(pass(us));
  reporter.ReportRuns(repeated(0, 2));
  reporter.ReportRuns(mean(0, 2));
  EXPECT_EQ(names(),
            (std::vector<std::string>{"first", "first", "first/op:matmul", "first/op:matmul",
                                      "first_mean", "first/op:matmul_mean"}));
  const ReportedRun& of_first = sink.results.back().runs[2];
  EXPECT_DOUBLE_EQ(of_first.real_accumulated_time, 5e-6);
  EXPECT_DOUBLE_EQ(of_first.counters.at("pct_of_step"), 50);
  EXPECT_DOUBLE_EQ(sink.results.back().runs[5].real_accumulated_time / 2, 7.5e-6);
}

/// A row whose process stood still is kept back twice, then passed on as it is.
TEST_F(Reports, RepeatARowAfterAStandstill) {
  std::vector<std::string> notes;
  reporter.repeat_after_standstill([&](const std::string& line) { notes.push_back(line); });
  for (int again = 0; again < 3; ++again) {
    records[1].passes = {pass(3)};
    records[1].passes[0].standstill = 1.25;
    reporter.ReportRuns(repeated(1, 1));
    EXPECT_EQ(sink.results.size(), again < 2 ? 0U : 1U);
    const auto places = reporter.take_again();
    EXPECT_EQ(places, again < 2 ? std::vector<std::size_t>{1} : std::vector<std::size_t>{});
  }
  ASSERT_EQ(notes.size(), 3U);
  EXPECT_NE(notes[0].find("second: this process stood still for 1.2 s"), std::string::npos);
  EXPECT_NE(notes[0].find("measured again"), std::string::npos) << notes[0];
  EXPECT_EQ(notes[2].find("measured again"), std::string::npos) << notes[2];
}

TEST_F(Reports, TakeAStandstillInAnyRepetitionForOne) {
  reporter.repeat_after_standstill([](const std::string&) {});
  records[0].passes = {pass(3), pass(3)};
  records[0].passes[0].standstill = 1;
  reporter.ReportRuns(repeated(0, 2));
  reporter.ReportRuns(mean(0, 2));
  EXPECT_TRUE(sink.results.empty());
  EXPECT_EQ(reporter.take_again(), std::vector<std::size_t>{0});
}

TEST_F(Reports, HaveNoRunsOfARowThatIsLeftOut) {
  auto runs = repeated(0, 2);
  for (auto& run : runs) fail(run, "left out");
  records[0].left_out = true;
  reporter.ReportRuns(runs);
  ASSERT_EQ(sink.results.size(), 1U);
  EXPECT_TRUE(sink.results[0].left_out);
  EXPECT_TRUE(sink.results[0].runs.empty());
  EXPECT_FALSE(sink.results[0].failure);
}

TEST_F(Reports, HaveFiniteCountersOnly) {
  auto runs = repeated(0, 1);
  runs[0].counters["flops"] = 1;
  runs[0].counters["bytes"] = NAN;
  runs[0].counters["flops_pct_peak"] = benchmark::Counter(50, benchmark::Counter::kIsRate);
  reporter.ReportRuns(runs);
  const auto& counters = sink.results.at(0).runs.at(0).counters;
  EXPECT_EQ(counters.count("bytes"), 0U);
  EXPECT_EQ(counters.at("flops_pct_peak").flags, benchmark::Counter::kDefaults);
}

TEST_F(Reports, HaveSamplesOfRowsThatKeepThem) {
  rows[0].samples = true;
  TimedPass search = pass(2, 1);
  search.samples = {.steps_per_sample = 5, .us = {1, 2}};
  TimedPass repetition = pass(2, 10);
  repetition.samples = {.steps_per_sample = 5, .us = {3, 4}};
  for (auto& record : records) record.passes = {search, repetition};
  for (const int64_t row : {0, 1}) reporter.ReportRuns(repeated(row, 1));
  EXPECT_EQ(sink.results.at(0).samples,
            "{\"name\":\"first\",\"repetition\":0,\"step\":0,\"us\":3.0}\n"
            "{\"name\":\"first\",\"repetition\":0,\"step\":5,\"us\":4.0}\n");
  EXPECT_EQ(sink.results.at(1).samples, "");
}

}  // namespace
}  // namespace fathom::benchmarks
