#pragma once

#include "benchmarks/google_benchmark.h"

namespace fathom::benchmarks {

/// Whether the time of a run may be too long, by its counters: others took more than 5 % of it from
/// each of its threads, the process stood still for as much, or half of its steps were disturbed.
/// False where that is not known. results/fathom_runs/disturbed.py has the same rule.
bool is_disturbed(const benchmark::BenchmarkReporter::Run& run);

}  // namespace fathom::benchmarks
