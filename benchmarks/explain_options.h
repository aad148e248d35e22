#pragma once

#include <functional>
#include <string>

#include "benchmarks/options.h"

namespace fathom::benchmarks {

/// Takes the value of --fathom_explain. An explanation has its own rows, and a short time for each
/// of them; `given` says whether another option of ours was. Throws UsageError.
void settle_explanation(const std::string& typed, const std::function<bool(const char*)>& given,
                        Options& options);

}  // namespace fathom::benchmarks
