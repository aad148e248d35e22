#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/machine/peaks.h"
#include "benchmarks/machine/standstill.h"
#include "benchmarks/measure/row_result.h"
#include "benchmarks/options/options.h"
#include "benchmarks/ranks/crew.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// The one timed loop: builds a row's task, checks it, warms it up, times it and sets its counters.
/// Google Benchmark calls it several times for a row, so it keeps the task until it gets a row of
/// another subject.
class Loop {
 public:
  /// Called before each stage of a row ("building", "warming up", "timing"), outside timed work.
  using Stage = std::function<void(const Row&, const char*)>;

  /// `crew` runs the rows with ranks; null: there are none.
  Loop(Peaks& peaks, Stage stage, Conditions conditions = {}, Crew* crew = nullptr)
      : peaks_(peaks), stage_(std::move(stage)), conditions_(std::move(conditions)), crew_(crew) {}

  /// The body of the benchmark; adds a pass to the row's record. An exception becomes the row's
  /// failure, and its later passes run nothing.
  void run(benchmark::State& state, const Row& row, RowRecord& record);

  /// Registers `rows` with Google Benchmark in place of all others and runs them. records[i] is the
  /// record of rows[i].
  void run_all(std::span<const Row> rows, std::span<RowRecord> records,
               benchmark::BenchmarkReporter& reporter);

 private:
  Counters measure_memory(const Row& row);
  void prepare(const Row& row);
  void warm_up(const Row& row);
  int64_t sample_steps(const Row& row);
  Batch batch(const RowRecord& record) const;
  Samples time(benchmark::State& state, const Row& row, const Batch& batch);
  void set_standstill(benchmark::State& state, const Row& row, std::span<const Stretch> timed,
                      double taken, Samples& samples) const;
  void set_counters(benchmark::State& state, const Row& row, const Samples& samples);
  void profile(benchmark::State& state, const Row& row, int64_t timed_steps, TimedPass& pass);
  void record_profile(benchmark::State& state, const Row& row, int64_t timed_steps,
                      TimedPass& pass);
  void warn_of_missing_profile();  ///< once
  void make_room(const Row& row);
  void forget();
  void skip(benchmark::State& state, const RowRecord& record) const;

  Peaks& peaks_;
  Stage stage_;
  Conditions conditions_;
  Crew* crew_;
  bool warned_ = false;
  std::string subject_;
  std::unique_ptr<Task> task_;
  int warm_threads_ = 0;       ///< the thread count at which task_ is warm; 0: none
  double first_seconds_ = 0;   ///< the first step of task_ at warm_threads_
  double steady_seconds_ = 0;  ///< the fastest warm-up step at warm_threads_
  Stretch warm_up_ = {};       ///< all of them but the first
  int64_t sample_steps_ = 1;   ///< steps a sample at warm_threads_
};

}  // namespace fathom::benchmarks
