#pragma once

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// Sets the options that --fathom_explain implies: all cores, hot and cold op rows, a short time
/// for each row. Does nothing without it. Throws UsageError for an option that it excludes.
void resolve_explanation(Options& options);

}  // namespace fathom::benchmarks
