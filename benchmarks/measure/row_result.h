#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/step_profile.h"
#include "benchmarks/rows/rows.h"
#include "ops/profiler/operator_times.h"
#include "ops/profiler/shape_profile.h"

namespace fathom::benchmarks {

/// Times of one pass through the timed loop.
struct Samples {
  int64_t steps_per_sample = 1;
  std::vector<double> us;  ///< microseconds a step, each the mean of steps_per_sample, in order
  std::optional<double> gpu_us = {};    ///< microseconds a step on the GPU, the mean of all samples
  std::optional<double> taken_us = {};  ///< microseconds a step that others took (TakenTime)
  double standstill = 0;                ///< seconds in all, if they are many (standstill.h)
};

/// Iterations between Google Benchmark's checks. It ends the process where repetitions of a row
/// have other numbers of iterations, so all passes of a row have the same batch.
struct Batch {
  int64_t samples;
  int64_t steps_per_sample;

  int64_t iterations() const { return samples * steps_per_sample; }
};

/// What LibTorch's operators take in some profiled steps.
struct StepOperators {
  int64_t steps;
  std::vector<ops::OperatorTime> all;  ///< of all steps together, the longest first
};

/// What one pass keeps beside Google Benchmark's counters.
struct TimedPass {
  int64_t iterations;  ///< that Google Benchmark asked for
  Batch batch;
  double median_us;                             ///< of a step
  std::optional<double> taken_us = {};          ///< as in Samples
  Samples samples;                              ///< empty unless row.samples
  std::optional<StepProfile> op_types;          ///< with Profiling::kOpTypes
  std::optional<ops::ShapeProfile> op_shapes;   ///< with Profiling::kOpShapes
  std::optional<StepOperators> operators = {};  ///< with Profiling::kOpShapes
  std::optional<double> profile_taken_us = {};  ///< a step of op_shapes, as taken_us
  double standstill = 0;                        ///< as in Samples, of profiled steps, too
};

/// Why a row has no measurement.
struct Failure {
  std::string reason;
  int64_t repetition = 0;  ///< the first one that failed
};

/// What the loop keeps of a row until its runs are reported.
struct RowRecord {
  std::optional<Counters> memory;            ///< measured once, before the first pass
  std::vector<TimedPass> passes;             ///< those that did not fail, oldest first
  std::shared_ptr<const StepChoice> choice;  ///< of its task
  std::optional<Failure> failure;            ///< no pass runs after it
  bool left_out = false;                     ///< its kernels replace nothing; no pass runs
};

/// The result of a row. Every sink gets it once, after the last repetition.
struct RowResult {
  using Run = benchmark::BenchmarkReporter::Run;

  const Row* row = nullptr;
  std::shared_ptr<const StepChoice> choice = nullptr;  ///< of its task
  std::optional<Run> failure = {};  ///< without a measurement; the row then has no others
  bool left_out = false;            ///< its kernels replace nothing; it has no runs
  /// The measured runs, then the runs of the op types inside the step; of each the repetitions
  /// first, then their aggregates. Counters are finite.
  std::vector<Run> runs = {};
  std::vector<TimedPass> repetitions = {};  ///< empty where another process ran the row
  std::string samples = {};                 ///< lines of --fathom_samples
};

}  // namespace fathom::benchmarks
