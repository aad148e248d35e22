#pragma once

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// Sets what --fathom_explain implies: all cores, hot and cold op rows, a short time for each row.
/// Does nothing without it. Throws UsageError for an option that cannot stand beside it.
void resolve_explanation(Options& options);

}  // namespace fathom::benchmarks
