#pragma once

#include <string>
#include <utility>
#include <vector>

#include "benchmarks/options.h"
#include "benchmarks/peaks.h"
#include "benchmarks/rows.h"

namespace fathom::benchmarks {

/// What a reader must know about a file's machine, build and settings (results/README.md); measures
/// the peaks that `rows` need.
std::vector<std::pair<std::string, std::string>> context(const Options& options,
                                                         const std::vector<Row>& rows,
                                                         Peaks& peaks);

}  // namespace fathom::benchmarks
