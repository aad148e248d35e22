#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/machine/peaks.h"
#include "benchmarks/rows/rows.h"
#include "ops/profiler/profile.h"
#include "ops/profiler/shape_profile.h"

namespace fathom::benchmarks {

/// Times of one pass through the timed loop.
struct Samples {
  int64_t steps_per_sample = 1;
  std::vector<double>
      us;  ///< microseconds a step, the mean over steps_per_sample of them, in order
  std::optional<double> gpu_us;  ///< microseconds a step on the GPU, the mean over all samples
};

/// What op types took in a few steps after a pass, which is not timed itself.
struct StepProfile {
  int64_t steps;
  double cpu_seconds;                ///< of the process
  ops::Profile ops;                  ///< of all steps
  std::vector<ops::Profile> series;  ///< of each step, on the CPU where samples are kept
};

/// Those of a row's passes that are its repetitions, the last ones: in the others Google Benchmark
/// looks for an iteration count. The row may have failed in some.
template <typename Pass>
std::span<const Pass> repetitions(const std::vector<Pass>& passes,
                                  const benchmark::BenchmarkReporter::Run& run) {
  const auto count = static_cast<std::size_t>(std::max<int64_t>(run.repetitions, 1));
  return std::span(passes).last(std::min(count, passes.size()));
}

/// The one timed loop: builds a row's task, checks it, warms it up, times it and sets its counters.
/// Google Benchmark calls it several times for a row, so the task is kept until another subject's
/// turn.
class Loop {
 public:
  /// `stage` hears what the loop is about to do with a row ("building", "warming up", "timing"),
  /// outside timed work.
  using Stage = std::function<void(const Row&, const char*)>;

  Loop(Peaks& peaks, Stage stage) : peaks_(peaks), stage_(std::move(stage)) {}

  /// The body of the benchmark. What goes wrong becomes the row's error, never an exception.
  void run(benchmark::State& state, const Row& row);

  /// Op types of every pass over a row so far, oldest first.
  const std::vector<StepProfile>& profiles(const std::string& name) const;

  /// Op shapes, likewise.
  const std::vector<ops::ShapeProfile>& shapes(const std::string& name) const;

  /// The median step of every pass over a row so far in microseconds, likewise.
  const std::vector<double>& medians_us(const std::string& name) const;

  /// Samples of every pass over a row so far, oldest first; they are handed over.
  std::vector<Samples> take_samples(const std::string& name);

 private:
  void weigh(const Row& row);
  void prepare(const Row& row);
  void warm_up(const Row& row);
  Samples time(benchmark::State& state, const Row& row);
  void count(benchmark::State& state, const Row& row, const Samples& samples);
  void watch(benchmark::State& state, const Row& row, int64_t timed_steps);
  void forget();
  double step_seconds(const Row& row, bool rehearse);

  Peaks& peaks_;
  Stage stage_;
  std::string subject_;
  std::unique_ptr<Task> task_;
  int warm_threads_ = 0;       ///< the count that task_ is warm at
  double first_seconds_ = 0;   ///< of task_ at warm_threads_
  double steady_seconds_ = 0;  ///< likewise, the fastest warm-up step
  std::map<std::string, Counters> memory_;
  std::map<std::string, std::vector<Samples>> samples_;
  std::map<std::string, std::vector<StepProfile>> profiles_;
  std::map<std::string, std::vector<ops::ShapeProfile>> shapes_;
  std::map<std::string, std::vector<double>> medians_us_;
};

}  // namespace fathom::benchmarks
