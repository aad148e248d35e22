#pragma once

#include <string>
#include <utility>
#include <vector>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

using ContextEntries = std::vector<std::pair<std::string, std::string>>;

/// The machine, build and settings of a file (results/README.md).
ContextEntries context(const Options& options);

/// What readers of a file need of our tables, as "key:value key:value": the default batch of each
/// step, the workload of each variant, the class of each op type.
ContextEntries table_context();

}  // namespace fathom::benchmarks
