#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/step_profile.h"
#include "benchmarks/rows/rows.h"
#include "ops/profiler/shape_profile.h"

namespace fathom::benchmarks {

/// Times of one pass through the timed loop.
struct Samples {
  int64_t steps_per_sample = 1;
  std::vector<double> us;  ///< microseconds a step, each the mean of steps_per_sample, in order
  std::optional<double> gpu_us = {};  ///< microseconds a step on the GPU, the mean of all samples
};

/// What one pass keeps beside Google Benchmark's counters.
struct TimedPass {
  double median_us;                            ///< of a step
  Samples samples;                             ///< empty unless row.samples
  std::optional<StepProfile> op_types;         ///< with Profiling::kOpTypes
  std::optional<ops::ShapeProfile> op_shapes;  ///< with Profiling::kOpShapes
};

/// What the loop keeps of a row until its runs are reported.
struct RowRecord {
  std::optional<Counters> memory;  ///< measured once, before the first pass
  std::vector<TimedPass> passes;   ///< those that did not fail, oldest first
};

/// The outcome of a row, which every sink gets once, after the last repetition.
struct RowResult {
  using Run = benchmark::BenchmarkReporter::Run;

  const Row* row = nullptr;
  std::vector<Run> failures = {};  ///< runs without a measurement
  /// The measured runs with finite counters only, and after them those of the op types inside the
  /// step. First the repetitions, then the aggregates over them.
  std::vector<Run> runs = {};
  std::vector<TimedPass> repetitions = {};  ///< empty for a row of another process
  std::string samples = {};                 ///< lines of --fathom_samples
};

}  // namespace fathom::benchmarks
