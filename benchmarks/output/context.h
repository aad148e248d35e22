#pragma once

#include <string>
#include <utility>
#include <vector>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

using ContextEntries = std::vector<std::pair<std::string, std::string>>;

/// The machine, build and settings of a file (results/README.md).
ContextEntries context(const Options& options);

}  // namespace fathom::benchmarks
