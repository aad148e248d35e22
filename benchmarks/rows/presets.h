#pragma once

#include <vector>

#include "benchmarks/options/options.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// The rows that the options select, in the order in which they run: those of a preset
/// (--fathom_study, --fathom_explain), else all. Throws what their makers throw, and UsageError for
/// a name that occurs twice.
std::vector<Row> make_rows(const Options& options);

}  // namespace fathom::benchmarks
