#include "benchmarks/measure/loop.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "benchmarks/machine/disturbances.h"

namespace fathom::benchmarks {
namespace {

/// The loop's calls of a task.
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
  StepCounts counts() const override {
    return {.items = 8,
            .flops = 1e6,
            .bytes = 4e3,
            .rates = {{"tokens_per_second", 24}},
            .counters = {{"params", 42}, {"unknown", NAN}},
            .label = "fake"};
  }
  Counters phases_us(int64_t steps) override {
    return {{"forward_us", 1}, {"update_us", static_cast<double>(steps)}};
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
            .make =
                [=, this](const Row&) {
                  return std::make_unique<FakeTask>(calls, step, fails_check_at, ends_finite);
                },
            .samples = true};
  }

  std::vector<benchmark::BenchmarkReporter::Run> time(const std::vector<Row>& rows) {
    records.assign(rows.size(), {});
    Capture capture;
    loop.run_all(rows, records, capture);
    return capture.runs;
  }

  Calls calls;
  inline static Peaks peaks;       ///< measured once for all tests
  std::vector<RowRecord> records;  ///< of the rows of the last time()
  Loop loop{peaks, [](const Row&, const char*) {}};
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
  EXPECT_GT(records[0].passes.size(), 1U);
}

TEST_F(TimedLoop, KeepsTheTaskWhenOnlyTheThreadsChange) {
  time({row(std::chrono::milliseconds(300), 1), row(std::chrono::milliseconds(300), 2)});
  EXPECT_EQ(calls.built, 1);
  EXPECT_EQ(calls.thread_changes, 2);
  EXPECT_EQ(calls.checks, 2);
}

TEST_F(TimedLoop, SetsTheCountersOfAStep) {
  const auto runs = time({row(std::chrono::milliseconds(2))});
  const auto& run = runs.at(0);
  const double seconds = run.GetAdjustedRealTime() * 1e-6;
  const auto counter = [&](const char* name) { return run.counters.at(name).value; };
  EXPECT_NEAR(counter("items_per_second"), 8 / seconds, 1e-6 / seconds);
  EXPECT_NEAR(counter("tokens_per_second"), 24 / seconds, 1e-6 / seconds);
  EXPECT_NEAR(counter("flops"), 1e6 / seconds, 1);
  EXPECT_NEAR(counter("bytes"), 4e3 / seconds, 1);
  EXPECT_NEAR(counter("flops_pct_peak"),
              1e8 / seconds / peaks.flops(row({}).device, 1, row({}).precision).rate, 1e-6);
  EXPECT_EQ(counter("params"), 42);
  EXPECT_GE(counter("min_us"), 2e3);
  EXPECT_GE(counter("p50_us"), counter("min_us"));
  EXPECT_GE(counter("p95_us"), counter("p50_us"));
  EXPECT_GE(counter("first_step_us"), 2e3);
  EXPECT_EQ(run.report_label, "fake");
}

TEST_F(TimedLoop, GivesNoGpuTimeToCpuRows) {
  const auto runs = time({row(std::chrono::milliseconds(20))});
  EXPECT_EQ(runs.at(0).counters.count("gpu_time_us"), 0U);
}

constexpr std::size_t kMappedBytes = 256 << 20;

/// A step that maps and writes kMappedBytes.
class MappingTask final : public Task {
 public:
  void run() override {
    void* block =
        mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) throw std::runtime_error("no memory");
    std::memset(block, 1, kMappedBytes);
    munmap(block, kMappedBytes);
  }
  void check() override {}
  void check_finite() override {}
  StepCounts counts() const override { return {}; }
};

TEST_F(TimedLoop, GivesEachRowItsOwnResidentMemory) {
  Row large = row({});
  large.subject = "mapping";
  large.make = [](const Row&) { return std::make_unique<MappingTask>(); };
  const auto runs = time({large, row(std::chrono::milliseconds(200))});
  const auto found = runs.at(0).counters.find("peak_memory_bytes");
  if (found == runs.at(0).counters.end()) GTEST_SKIP() << "this kernel cannot reset the mark";
  const double before = runs.at(1).counters.at("peak_memory_bytes").value;
  EXPECT_NEAR(found->second.value - before, kMappedBytes, 0.1 * kMappedBytes);
}

TEST_F(TimedLoop, ReportsTheTimeThatOthersTook) {
  const TakenTime known = TakenTimer().seconds();
  const auto runs = time({row(std::chrono::milliseconds(200))});
  const auto& counters = runs.at(0).counters;
  EXPECT_EQ(counters.contains("stolen_us"), known.stolen.has_value());
  EXPECT_EQ(counters.contains("waiting_us"), known.waiting.has_value());
  const auto value = [&](const char* name) {
    return counters.contains(name) ? counters.at(name).value : 0;
  };
  const auto taken = records[0].passes.back().taken_us;
  EXPECT_EQ(taken.has_value(), known.all().has_value());
  EXPECT_DOUBLE_EQ(taken.value_or(0), value("stolen_us") + value("waiting_us"));
}

TEST_F(TimedLoop, MeasuresMemoryOnceAndOutsideTheTimedTask) {
  Row with_memory = row(std::chrono::milliseconds(5));
  int measured = 0;
  with_memory.memory = [&] {
    ++measured;
    return Counters{{"memory_peak_bytes", 42}};
  };
  const auto runs = time({with_memory});
  EXPECT_GT(records[0].passes.size(), 1U);
  EXPECT_EQ(measured, 1);
  EXPECT_EQ(calls.built, 1);
  EXPECT_EQ(runs.at(0).counters.at("memory_peak_bytes").value, 42);
}

TEST_F(TimedLoop, ReportsAFailedMemoryMeasurementAsAnError) {
  Row with_memory = row(std::chrono::milliseconds(5));
  with_memory.memory = []() -> Counters { throw std::runtime_error("no memory left"); };
  const auto runs = time({with_memory});
  EXPECT_EQ(failure(runs.at(0)), "no memory left");
}

TEST_F(TimedLoop, ProfilesEachStepSeparatelyWhereSamplesAreKept) {
  Row profiled = row(std::chrono::milliseconds(200));
  profiled.profiling = Profiling::kOpTypes;
  const auto runs = time({profiled});
  const StepProfile& profile = records[0].passes.back().op_types.value();
  EXPECT_EQ(profile.steps, 3);  // as many as were timed
  ASSERT_EQ(profile.series.size(), 3U);
  double seconds = 0;
  for (const auto& step : profile.series) seconds += step.seconds;
  EXPECT_DOUBLE_EQ(profile.ops.seconds, seconds);
  EXPECT_EQ(runs.at(0).counters.at("forward_us").value, 1);
  EXPECT_EQ(runs.at(0).counters.at("update_us").value, 3);
}

/// A product of 2048 x 2048 on the GPU, with 3 x 16 MiB at least.
class GpuTask final : public Task {
 public:
  void run() override { product_ = at::mm(factor_, factor_); }
  void check() override {}
  void check_finite() override {}
  StepCounts counts() const override { return {}; }

 private:
  at::Tensor factor_ = at::ones({2048, 2048}, fixtures::torch_device(fixtures::Device::kCuda));
  at::Tensor product_;
};

TEST_F(TimedLoop, GivesGpuTimeAndAllocatedMemoryToGpuRows) {
  const std::string& absent = fixtures::unavailable_reason(fixtures::Device::kCuda);
  if (!absent.empty()) GTEST_SKIP() << absent;
  Row gpu = row({});
  gpu.device = fixtures::Device::kCuda;
  gpu.make = [](const Row&) { return std::make_unique<GpuTask>(); };
  const auto runs = time({gpu});
  ASSERT_FALSE(failed(runs.at(0))) << failure(runs[0]);
  const double gpu_us = runs[0].counters.at("gpu_time_us").value;
  EXPECT_GT(gpu_us, 1);
  EXPECT_LE(gpu_us, runs[0].GetAdjustedRealTime());
  const double bytes = runs[0].counters.at("peak_memory_bytes").value;
  EXPECT_GE(bytes, 2 * 2048 * 2048 * 4);
  EXPECT_LE(bytes, 1e9);
}

double reserved_gpu_bytes() {
  constexpr auto kAllPools = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<double>(at::accelerator::getDeviceStats(0).reserved_bytes[kAllPools].current);
}

TEST_F(TimedLoop, LeavesNoGpuMemoryOfAFailedRowToTheNext) {
  const std::string& absent = fixtures::unavailable_reason(fixtures::Device::kCuda);
  if (!absent.empty()) GTEST_SKIP() << absent;
  constexpr int64_t kGiB = int64_t{1} << 30;
  Row full = row({});
  full.device = fixtures::Device::kCuda;
  full.make = [](const Row&) -> std::unique_ptr<Task> {
    at::ones({kGiB / 4}, fixtures::torch_device(fixtures::Device::kCuda));
    throw std::runtime_error("CUDA out of memory");
  };
  double reserved = 0;
  Row next = row({});
  next.device = fixtures::Device::kCuda;
  next.make = [&](const Row&) {
    reserved = reserved_gpu_bytes();
    return std::make_unique<GpuTask>();
  };
  const auto runs = time({full, next});
  EXPECT_TRUE(failed(runs.at(0)));
  EXPECT_FALSE(failed(runs.at(1)));
  EXPECT_LT(reserved, kGiB);
}

/// A replay calls no ops.
TEST_F(TimedLoop, DoesNotProfileCudaGraphs) {
  Row graph = row(std::chrono::milliseconds(200));
  graph.profiling = Profiling::kOpTypes;
  graph.cuda_graph = true;
  EXPECT_FALSE(time({graph}).at(0).counters.contains("forward_us"));
  EXPECT_FALSE(records[0].passes.back().op_types);
}

TEST_F(TimedLoop, LeavesOutTheMemoryOfCudaGraphs) {
  Row graph = row(std::chrono::milliseconds(300));
  if (!time({graph}).at(0).counters.contains("peak_memory_bytes"))
    GTEST_SKIP() << "this kernel cannot reset the mark";
  graph.cuda_graph = true;
  EXPECT_FALSE(time({graph}).at(0).counters.contains("peak_memory_bytes"));
}

TEST_F(TimedLoop, LeavesOutUnknownCounters) {
  const auto runs = time({row(std::chrono::milliseconds(300))});
  EXPECT_EQ(runs.at(0).counters.count("unknown"), 0U);
  EXPECT_EQ(runs.at(0).counters.count("p50_us"), 0U);          // three samples have no percentiles
  EXPECT_EQ(runs.at(0).counters.count("bytes_pct_peak"), 0U);  // 4 kB lie in the caches
}

TEST_F(TimedLoop, SharesSamplesBetweenShortSteps) {
  const auto runs = time({row(std::chrono::milliseconds(0))});
  const Samples& samples = records[0].passes.back().samples;
  EXPECT_EQ(samples.us.size() % 3, 0U);
  EXPECT_GT(samples.steps_per_sample, 1);
  EXPECT_EQ(runs.at(0).iterations, std::ssize(samples.us) * samples.steps_per_sample);
}

TEST_F(TimedLoop, TakesPercentilesByNearestRank) {
  const auto runs = time({row(std::chrono::milliseconds(2))});
  std::vector<double> us = records[0].passes.back().samples.us;
  ASSERT_GE(us.size(), 59U);
  std::sort(us.begin(), us.end());
  const auto counter = [&](const char* name) { return runs.at(0).counters.at(name).value; };
  EXPECT_EQ(counter("min_us"), us.front());
  EXPECT_EQ(counter("p50_us"), us[(us.size() + 1) / 2 - 1]);  // ceil(n / 2), from 1
  EXPECT_EQ(counter("p95_us"), us[(95 * us.size() + 99) / 100 - 1]);
  EXPECT_EQ(records[0].passes.back().median_us, counter("p50_us"));
}

TEST_F(TimedLoop, HasTheMedianOfSamplesThatDoNotBoundTheOtherPercentile) {
  const auto runs = time({row(std::chrono::milliseconds(30))});
  const std::size_t samples = records[0].passes.back().samples.us.size();
  ASSERT_TRUE(samples >= 5 && samples < 59) << samples;
  EXPECT_EQ(runs.at(0).counters.count("p50_us"), 1U);
  EXPECT_EQ(runs.at(0).counters.count("p95_us"), 0U);
}

/// Computes for 1 ms and sleeps for 4 ms, so that a busy machine takes little of its time. One step
/// waits for a second, as if the process were stopped.
class StoppedTask final : public Task {
 public:
  void run() override {
    if (++steps_ == 60) std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < end) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
  void check() override {}
  void check_finite() override {}
  StepCounts counts() const override { return {}; }

 private:
  int steps_ = 0;
};

TEST_F(TimedLoop, NoticesThatTheProcessStoodStill) {
  Row stopped = row({});
  stopped.subject = "stopped";
  stopped.make = [](const Row&) { return std::make_unique<StoppedTask>(); };
  const auto runs = time({stopped});
  const TimedPass& pass = records[0].passes.back();
  ASSERT_GT(pass.standstill, 0);
  EXPECT_LE(pass.standstill, 1.2);
  const double steps = static_cast<double>(runs.at(0).iterations);
  EXPECT_GE(pass.taken_us.value_or(0) * steps, 0.95e6);  // what others took is subtracted
  EXPECT_DOUBLE_EQ(runs[0].counters.at("standstill_us").value * steps, pass.standstill * 1e6);
  EXPECT_GE(pass.taken_us.value_or(0), runs[0].counters.at("standstill_us").value);
}

TEST_F(TimedLoop, TakesStepsThatSleepForNoStandstill) {
  const auto runs = time({row(std::chrono::milliseconds(20))});
  EXPECT_EQ(records[0].passes.back().standstill, 0);
  EXPECT_FALSE(runs.at(0).counters.contains("standstill_us"));
}

/// Its kernels replace nothing.
class UnreplacedTask final : public Task {
 public:
  void run() override {}
  void check() override {}
  void check_finite() override {}
  StepCounts counts() const override {
    StepCounts made{};
    made.label = "channels_last replaced:nothing";
    return made;
  }
};

TEST_F(TimedLoop, LeavesOutARowWhoseKernelsReplaceNothing) {
  Row needs = row({});
  needs.make = [](const Row&) { return std::make_unique<UnreplacedTask>(); };
  Row kept = needs;
  needs.needs_replacement = true;
  const auto runs = time({needs, kept});
  EXPECT_TRUE(records[0].left_out);
  EXPECT_FALSE(records[0].failure);
  EXPECT_TRUE(records[0].passes.empty());
  EXPECT_FALSE(records[1].left_out);
  EXPECT_FALSE(failed(runs.at(1)));
}

TEST_F(TimedLoop, ReportsAFailedCheckAsAnError) {
  const auto runs = time({row(std::chrono::milliseconds(1), 1, /*fails_check_at=*/1)});
  ASSERT_TRUE(failed(runs.at(0)));
  EXPECT_EQ(failure(runs[0]), "found 1, expected 2");
}

TEST_F(TimedLoop, ReportsAnInfiniteLastStepAsAnError) {
  const auto runs = time({row(std::chrono::milliseconds(1), 1, 0, /*ends_finite=*/false)});
  ASSERT_TRUE(failed(runs.at(0)));
  EXPECT_EQ(failure(runs[0]), "the loss is not finite");
}

/// Fails in the third pass, in its first step or after the last one.
class FailingTask final : public Task {
 public:
  explicit FailingTask(bool in_a_step) : in_a_step_(in_a_step) {}
  void run() override {
    if (in_a_step_ && finished_passes_ == 2) throw std::runtime_error("a step failed");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void check() override {}
  void check_finite() override {
    if (++finished_passes_ == 3) throw std::runtime_error("the loss is not finite");
  }
  StepCounts counts() const override { return {}; }

 private:
  bool in_a_step_;
  int finished_passes_ = 0;
};

void initialize(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (auto& one : arguments) pointers.push_back(one.data());
  auto count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
}

/// With errors in some repetitions only, Google Benchmark 1.7.1 ends the process.
TEST_F(TimedLoop, EndsARowWithTheFirstRepetitionThatFails) {
  initialize({"tests", "--benchmark_repetitions=5", "--benchmark_min_time=0.01"});
  for (const bool in_a_step : {false, true}) {
    Row failing = row({});
    failing.subject += std::to_string(in_a_step);
    failing.make = [=](const Row&) { return std::make_unique<FailingTask>(in_a_step); };
    time({failing});
    ASSERT_TRUE(records[0].failure);
    EXPECT_EQ(records[0].failure->reason, in_a_step ? "a step failed" : "the loss is not finite");
    EXPECT_EQ(records[0].failure->repetition, 2);
    EXPECT_EQ(records[0].passes.size(), 2U);
  }
  initialize({"tests", "--benchmark_repetitions=1", "--benchmark_min_time=0.5"});
}

TEST_F(TimedLoop, BuildsANewTaskAfterAnError) {
  const auto runs = time({row(std::chrono::milliseconds(100), 1, /*fails_check_at=*/1),
                          row(std::chrono::milliseconds(100), 2, /*fails_check_at=*/1)});
  EXPECT_TRUE(failed(runs.at(0)));
  EXPECT_FALSE(failed(runs.at(1)));
  EXPECT_EQ(calls.built, 2);
}

}  // namespace
}  // namespace fathom::benchmarks
