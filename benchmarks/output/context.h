#pragma once

#include <string>
#include <utility>
#include <vector>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

using ContextEntries = std::vector<std::pair<std::string, std::string>>;

/// What a reader must know about a file's machine, build and settings (results/README.md).
ContextEntries context(const Options& options);

}  // namespace fathom::benchmarks
