#pragma once

#include <string>
#include <vector>

#include "benchmarks/output/progress.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Runs a training step and an inference of each workload that has a row in `rows`, on the CPU in
/// fp32 with all usable cores, and writes the ops that they ran as <directory>/<workload>.json.
/// Throws UsageError where a file cannot be written.
void record_shapes(const std::vector<Row>& rows, const std::string& directory, Progress& progress);

}  // namespace fathom::benchmarks
