#pragma once

#include <span>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/row_result.h"

namespace fathom::benchmarks {

/// The name of the row of an op type inside a model row.
benchmark::BenchmarkName op_row_name(benchmark::BenchmarkName row, const std::string& type);

/// For each of `runs`, which are repetitions of one row or aggregates over them, a run
/// `<row>/op:<type>` with the time of each op type in a step. Empty where the repetitions have no
/// profile.
std::vector<benchmark::BenchmarkReporter::Run> op_type_rows(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs,
    std::span<const TimedPass> repetitions);

}  // namespace fathom::benchmarks
