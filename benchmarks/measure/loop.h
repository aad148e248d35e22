#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/machine/peaks.h"
#include "benchmarks/measure/row_result.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// The one timed loop: builds a row's task, checks it, warms it up, times it and sets its counters.
/// Google Benchmark calls it several times for a row, so it keeps the task until a row of another
/// subject comes.
class Loop {
 public:
  /// `stage` hears what the loop is about to do with a row ("building", "warming up", "timing"),
  /// outside timed work.
  using Stage = std::function<void(const Row&, const char*)>;

  Loop(Peaks& peaks, Stage stage) : peaks_(peaks), stage_(std::move(stage)) {}

  /// The body of the benchmark; adds a pass to the row's record. An exception becomes the row's
  /// error.
  void run(benchmark::State& state, const Row& row, RowRecord& record);

 private:
  Counters measure_memory(const Row& row);
  void prepare(const Row& row);
  void warm_up(const Row& row);
  Samples time(benchmark::State& state, const Row& row);
  void set_counters(benchmark::State& state, const Row& row, const Samples& samples);
  void profile(benchmark::State& state, const Row& row, int64_t timed_steps, TimedPass& pass);
  void forget();

  Peaks& peaks_;
  Stage stage_;
  std::string subject_;
  std::unique_ptr<Task> task_;
  int warm_threads_ = 0;       ///< the count that task_ is warm at
  double first_seconds_ = 0;   ///< of task_ at warm_threads_
  double steady_seconds_ = 0;  ///< likewise, the fastest warm-up step
};

}  // namespace fathom::benchmarks
