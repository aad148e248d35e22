#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Runs a training step and an inference step of each workload in `rows`, on the CPU in fp32 with
/// all usable cores, and writes the ops that they ran to <directory>/<workload>.json. Calls `note`
/// with a status line for each workload. Throws UsageError for a file that cannot be written.
void record_shapes(const std::vector<Row>& rows, const std::string& directory,
                   const std::function<void(const std::string&)>& note);

}  // namespace fathom::benchmarks
