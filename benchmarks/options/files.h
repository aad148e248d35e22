#pragma once

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// Throws UsageError where the program would write a file that it reads, or write two into one.
void refuse_shared_files(const Options& options);

}  // namespace fathom::benchmarks
