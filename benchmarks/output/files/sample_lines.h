#pragma once

#include <span>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/row_result.h"

namespace fathom::benchmarks {

/// Lines of --fathom_samples: the time of every timed step of a row, then of every op type in its
/// profiled steps. `runs` are the measured runs of the row; aggregates give no lines.
std::string sample_lines(const std::vector<benchmark::BenchmarkReporter::Run>& runs,
                         std::span<const TimedPass> repetitions);

}  // namespace fathom::benchmarks
