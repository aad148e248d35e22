#pragma once

#include <string>
#include <utility>
#include <vector>

#include "benchmarks/machine/gpu/nvml.h"
#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

using ContextEntries = std::vector<std::pair<std::string, std::string>>;

/// The machine, build and settings of a run (docs/results.md). The value of one that is unknown or
/// not given is empty.
ContextEntries context(const Options& options);

/// The settings of a GPU that NVML reports, such as its power limit.
ContextEntries gpu_settings(const Nvml& gpu);

/// The tables that readers of a file need, as "key:value key:value": the default batch of each
/// step, the workload of each variant, the class of each op type; and as "key key" the entries that
/// name the machine and those that change times.
ContextEntries table_context();

}  // namespace fathom::benchmarks
