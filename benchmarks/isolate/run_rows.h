#pragma once

#include <span>
#include <vector>

#include "benchmarks/machine/peaks.h"
#include "benchmarks/measure/loop.h"
#include "benchmarks/options/options.h"
#include "benchmarks/output/progress.h"
#include "benchmarks/output/reporter.h"
#include "benchmarks/ranks/crew.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Does what benchmark::RunSpecifiedBenchmarks() does, but runs those rows in their own processes
/// that is_isolated() names, and those again during which the process stood still. records[i] is
/// the record of rows[i]; `crew` may be null.
void run_rows(const Options& options, const std::vector<Row>& rows, std::span<RowRecord> records,
              Peaks& peaks, Progress& progress, Crew* crew, Loop& loop, Reporter& reporter);

}  // namespace fathom::benchmarks
