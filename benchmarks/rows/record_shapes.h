#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Runs a training step and an inference of each workload that has a row in `rows`, on the CPU in
/// fp32 with all usable cores, and writes the ops that they ran to <directory>/<workload>.json.
/// `note` hears of each workload as its turn comes. Throws UsageError for a file that cannot be
/// written.
void record_shapes(const std::vector<Row>& rows, const std::string& directory,
                   const std::function<void(const std::string&)>& note);

}  // namespace fathom::benchmarks
