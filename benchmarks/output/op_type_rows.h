#pragma once

#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/loop.h"

namespace fathom::benchmarks {

/// The name of the row of an op type inside a model row.
benchmark::BenchmarkName op_row_name(benchmark::BenchmarkName row, const std::string& type);

/// `runs`, all of one row, and after them a run for each op type inside the row's step where the
/// loop has watched it: `<row>/op:<type>`, with the time a step, for each repetition and for each
/// aggregate over them.
std::vector<benchmark::BenchmarkReporter::Run> with_op_rows(
    std::vector<benchmark::BenchmarkReporter::Run> runs, const Loop& loop);

}  // namespace fathom::benchmarks
