#pragma once

#include <string>
#include <vector>

#include "benchmarks/explain/explain.h"

namespace fathom::benchmarks {

/// {"explanations": [...]}, as docs/profile.md describes it. What is absent has no key.
std::string explanations_json(const std::vector<Explanation>& explanations);

}  // namespace fathom::benchmarks
