#pragma once

#include <string>
#include <utility>
#include <vector>

#include "benchmarks/options.h"
#include "benchmarks/peaks.h"
#include "benchmarks/rows.h"

namespace fathom::benchmarks {

using ContextEntries = std::vector<std::pair<std::string, std::string>>;

/// What a reader must know about a file's machine, build and settings (results/README.md).
ContextEntries context(const Options& options);

/// The peaks that `rows` are set beside, measured now.
ContextEntries peak_context(const std::vector<Row>& rows, Peaks& peaks);

}  // namespace fathom::benchmarks
