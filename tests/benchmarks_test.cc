#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <thread>

#include "benchmarks/error.h"
#include "benchmarks/json_file.h"
#include "benchmarks/loop.h"
#include "benchmarks/nearest.h"
#include "benchmarks/options.h"
#include "benchmarks/rows.h"

namespace fathom::benchmarks {
namespace {

// ---- the timed loop

/// What the loop asked of a task.
struct Calls {
  int built = 0;
  int runs = 0;
  int checks = 0;
  int thread_changes = 0;
};

class FakeTask final : public Task {
 public:
  FakeTask(Calls& calls, std::chrono::milliseconds step, int fails_check_at, bool ends_finite)
      : calls_(calls), step_(step), fails_check_at_(fails_check_at), ends_finite_(ends_finite) {
    ++calls_.built;
  }
  void run() override {
    ++calls_.runs;
    std::this_thread::sleep_for(step_);
  }
  void threads_changed() override { ++calls_.thread_changes; }
  void check() override {
    if (++calls_.checks == fails_check_at_)
      throw std::runtime_error("found 1, expected 2\nbacktrace");
  }
  void check_finite() override {
    if (!ends_finite_) throw std::runtime_error("the loss is not finite");
  }
  Figures figures() const override {
    return {.items = 8,
            .flops = 1e6,
            .bytes = 4e3,
            .counters = {{"params", 42}, {"unknown", NAN}},
            .label = "fake"};
  }

 private:
  Calls& calls_;
  std::chrono::milliseconds step_;
  int fails_check_at_;
  bool ends_finite_;
};

class Capture final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& reported) override {
    runs.insert(runs.end(), reported.begin(), reported.end());
  }
  std::vector<Run> runs;
};

class TimedLoop : public testing::Test {
 protected:
  Row row(std::chrono::milliseconds step, int threads = 1, int fails_check_at = 0,
          bool ends_finite = true) {
    return {.name = "fake/threads:" + std::to_string(threads),
            .subject = "fake",
            .threads = threads,
            .device = fixtures::Device::kCpu,
            .precision = fixtures::Precision::kFp32,
            .make = [=, this] {
              return std::make_unique<FakeTask>(calls, step, fails_check_at, ends_finite);
            }};
  }

  std::vector<benchmark::BenchmarkReporter::Run> time(const std::vector<Row>& rows) {
    for (const auto& each : rows) {
      benchmark::RegisterBenchmark(each.name.c_str(),
                                   [this, each](benchmark::State& state) { loop.run(state, each); })
          ->MeasureProcessCPUTime()
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
    }
    Capture capture;
    benchmark::SetBenchmarkFilter("^");
    benchmark::RunSpecifiedBenchmarks(&capture);
    benchmark::ClearRegisteredBenchmarks();
    return capture.runs;
  }

  Calls calls;
  Peaks peaks;
  Loop loop{peaks, [](const Row&, const char*) {}, /*keep_samples=*/true};
};

TEST_F(TimedLoop, TakesThreeSamplesOfAStepLongerThanTheMinimumTime) {
  const auto runs = time({row(std::chrono::milliseconds(600))});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_FALSE(failed(runs[0]));
  EXPECT_EQ(runs[0].iterations, 3);
  EXPECT_GE(calls.runs, 5);  // first, warm-up, three timed
}

TEST_F(TimedLoop, BuildsAndChecksOnceOverManyPasses) {
  const auto runs = time({row(std::chrono::milliseconds(5))});
  EXPECT_EQ(calls.built, 1);
  EXPECT_EQ(calls.checks, 1);
  EXPECT_GT(loop.take_samples("fake/threads:1").size(), 1U);
}

TEST_F(TimedLoop, KeepsTheTaskWhenOnlyTheThreadsChange) {
  time({row(std::chrono::milliseconds(300), 1), row(std::chrono::milliseconds(300), 2)});
  EXPECT_EQ(calls.built, 1);
  EXPECT_EQ(calls.thread_changes, 2);
  EXPECT_EQ(calls.checks, 2);
}

TEST_F(TimedLoop, SetsTheCountersOfAStep) {
  const auto runs = time({row(std::chrono::milliseconds(20))});
  const auto& run = runs.at(0);
  const double seconds = run.GetAdjustedRealTime() * 1e-6;
  const auto counter = [&](const char* name) { return run.counters.at(name).value; };
  EXPECT_NEAR(counter("items_per_second"), 8 / seconds, 1e-6 / seconds);
  EXPECT_NEAR(counter("flops"), 1e6 / seconds, 1);
  EXPECT_NEAR(counter("bytes"), 4e3 / seconds, 1);
  EXPECT_NEAR(counter("flops_pct_peak"),
              1e8 / seconds / peaks.flops(row({}).device, 1, row({}).precision).rate, 1e-6);
  EXPECT_EQ(counter("params"), 42);
  EXPECT_GE(counter("min_us"), 20e3);
  EXPECT_GE(counter("p50_us"), counter("min_us"));
  EXPECT_GE(counter("p95_us"), counter("p50_us"));
  EXPECT_GE(counter("first_step_us"), 20e3);
  EXPECT_EQ(run.report_label, "fake");
}

TEST_F(TimedLoop, LeavesOutWhatIsNotKnown) {
  const auto runs = time({row(std::chrono::milliseconds(300))});
  EXPECT_EQ(runs.at(0).counters.count("unknown"), 0U);
  EXPECT_EQ(runs.at(0).counters.count("p95_us"), 0U);          // three samples have no percentiles
  EXPECT_EQ(runs.at(0).counters.count("bytes_pct_peak"), 0U);  // 4 kB lie in the caches
}

TEST_F(TimedLoop, SharesSamplesBetweenShortSteps) {
  time({row(std::chrono::milliseconds(0))});
  const auto passes = loop.take_samples("fake/threads:1");
  EXPECT_EQ(passes.back().us.size() % 3, 0U);
  EXPECT_GE(passes.back().steps_per_sample, 1);
}

TEST_F(TimedLoop, ReportsAFailedCheckAsAnError) {
  const auto runs = time({row(std::chrono::milliseconds(1), 1, /*fails_check_at=*/1)});
  ASSERT_TRUE(failed(runs.at(0)));
  EXPECT_EQ(failure(runs[0]), "found 1, expected 2");
}

TEST_F(TimedLoop, ReportsALateInfinityAsAnError) {
  const auto runs = time({row(std::chrono::milliseconds(1), 1, 0, /*ends_finite=*/false)});
  ASSERT_TRUE(failed(runs.at(0)));
  EXPECT_EQ(failure(runs[0]), "the loss is not finite");
}

TEST_F(TimedLoop, BuildsAnewAfterAnError) {
  const auto runs = time({row(std::chrono::milliseconds(100), 1, /*fails_check_at=*/1),
                          row(std::chrono::milliseconds(100), 2, /*fails_check_at=*/1)});
  EXPECT_TRUE(failed(runs.at(0)));
  EXPECT_FALSE(failed(runs.at(1)));
  EXPECT_EQ(calls.built, 2);
}

// ---- the JSON file

class JsonOutput : public testing::Test {
 protected:
  JsonOutput() {
    std::filesystem::create_directories(folder);
    path = (folder / "out.json").string();
  }
  ~JsonOutput() override { std::filesystem::remove_all(folder); }

  static benchmark::BenchmarkReporter::Run run(const std::string& name) {
    benchmark::BenchmarkReporter::Run made;
    made.run_name.function_name = name;
    made.iterations = 1;
    made.real_accumulated_time = 1;
    return made;
  }
  nlohmann::json read() const { return nlohmann::json::parse(std::ifstream(path)); }

  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("json" + std::to_string(getpid()));
  std::string path;
};

TEST_F(JsonOutput, IsWholeAfterEveryBenchmark) {
  JsonFile file(path);
  file.begin({});
  for (std::size_t i = 0; i < 3; ++i) {
    file.add({run("row" + std::to_string(i))});
    const auto document = read();
    ASSERT_EQ(document["benchmarks"].size(), i + 1);
    EXPECT_EQ(document["benchmarks"][i]["name"], "row" + std::to_string(i));
    EXPECT_TRUE(document["context"].contains("caches"));
  }
}

TEST_F(JsonOutput, KeepsAnEarlierFileUntilTheFirstRow) {
  std::ofstream(path) << R"({"old": true})";
  JsonFile file(path);
  file.begin({});
  EXPECT_TRUE(read().contains("old"));
  file.add({run("new")});
  EXPECT_FALSE(read().contains("old"));
}

TEST_F(JsonOutput, FollowsALink) {
  const auto link = folder / "link.json";
  std::ofstream(path) << "{}";
  std::filesystem::create_symlink(path, link);
  JsonFile file(link.string());
  file.begin({});
  file.add({run("row")});
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read()["benchmarks"].size(), 1U);
}

TEST_F(JsonOutput, OnAFullDiskSaysSo) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  JsonFile file("/dev/full");
  file.begin({});
  try {
    file.add({run("row")});
    FAIL() << "written";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "/dev/full: No space left on device");
  }
}

TEST_F(JsonOutput, InAFolderThatIsNotThereIsWrongUsage) {
  EXPECT_THROW(JsonFile("/nonexistent/out.json"), UsageError);
}

TEST_F(JsonOutput, OverAFolderIsWrongUsage) { EXPECT_THROW(JsonFile(folder.string()), UsageError); }

// ---- options and rows

Options parsed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fathom_bench");
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  return parse_options(static_cast<int>(pointers.size()), pointers.data());
}

TEST(Options, DefaultToThisMachine) {
  const Options options = parsed({});
  EXPECT_EQ(options.devices.front(), fixtures::Device::kCpu);
  EXPECT_EQ(options.threads.front(), 1);
  EXPECT_EQ(options.threads.back(), fixtures::usable_cores());
  EXPECT_EQ(options.precisions, std::vector{fixtures::Precision::kFp32});
}

TEST(Options, TakeLists) {
  const Options options =
      parsed({"--fathom_batch=4,16", "--fathom_precision=bf16,fp32", "--fathom_seed=9"});
  EXPECT_EQ(options.batches, (std::vector<int64_t>{4, 16}));
  EXPECT_EQ(options.precisions,
            (std::vector{fixtures::Precision::kBf16, fixtures::Precision::kFp32}));
  EXPECT_EQ(options.seed, 9U);
}

TEST(Options, LeaveTheRestToGoogleBenchmark) {
  const Options options = parsed({"--benchmark_filter=vgg", "--fathom_seed=9"});
  EXPECT_EQ(options.google_benchmark.front(), "--benchmark_filter=vgg");
}

TEST(Options, TakeTheLastJsonFile) {
  EXPECT_EQ(parsed({"--benchmark_out=a.json", "--benchmark_out=b.json"}).out, "b.json");
  EXPECT_EQ(parsed({"--benchmark_out=a.csv", "--benchmark_out_format=csv"}).out, "");
}

TEST(Rows, HaveUniqueNamesOfLegalTokens) {
  Options options = parsed({"--fathom_precision=fp32,bf16", "--fathom_batch=1,2"});
  const std::regex model(
      "[a-z0-9_]+/(train|infer)/device:(cpu|cuda)/threads:[0-9]+/batch:[0-9]+"
      "/precision:(fp32|tf32|bf16)/backend:torch");
  const std::regex op(
      "op/[a-z0-9_]+/[a-z0-9_]+/[A-Za-z0-9_-]+/(forward|dgrad|wgrad|backward|update)"
      "/device:(cpu|cuda)/threads:[0-9]+/precision:(fp32|tf32|bf16)/cache:hot/"
      "backend:(torch|onednn)");
  std::set<std::string> names;
  for (const auto& row : make_rows(options)) {
    EXPECT_TRUE(std::regex_match(row.name, model) || std::regex_match(row.name, op)) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

std::size_t matches(const std::string& filter) {
  return filtered(make_rows(parsed({})), filter).size();
}

TEST(Filter, SearchesTheFullName) {
  EXPECT_GT(matches("vgg/train"), 0U);
  EXPECT_EQ(matches("/process_time/real_time$"), matches(""));
  EXPECT_EQ(matches("all"), matches(""));
  EXPECT_EQ(matches("no such row"), 0U);
}

TEST(Filter, IsInvertedByALeadingDash) {
  EXPECT_EQ(matches("vgg/train") + matches("-vgg/train"), matches(""));
}

TEST(Filter, ThatIsNoExpressionIsWrongUsage) { EXPECT_THROW(matches("(vgg"), UsageError); }

TEST(Nearest, FindsAMistypedPart) {
  const std::vector<std::string> names{"op/matmul/vgg/fc6", "vgg/train/device:cpu",
                                       "vgg/infer/device:cpu"};
  EXPECT_EQ(nearest("vg/train", names, 1), std::vector<std::string>{"vgg/train/device:cpu"});
  EXPECT_EQ(nearest("matmull", names, 1), std::vector<std::string>{"op/matmul/vgg/fc6"});
}

TEST(Nearest, OffersNothingForNonsense) {
  EXPECT_TRUE(nearest("qqqqqqqq", {"vgg/train"}, 3).empty());
}

}  // namespace
}  // namespace fathom::benchmarks
