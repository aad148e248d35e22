#pragma once

#include <string>

#include "benchmarks/options/preset.h"

namespace fathom::benchmarks {

/// Takes the value of --fathom_explain. An explanation has its own rows, and a short time for each
/// of them. Throws UsageError.
void settle_explanation(const std::string& typed, const Given& given, Options& options);

}  // namespace fathom::benchmarks
