#pragma once

#include <cstdint>
#include <vector>

#include "models/step.h"

namespace fathom::models {

/// Runs one training step and returns the elements of the buckets in which several ranks would
/// reduce its dense gradients, in the order of the reduction: what c10d::Reducer makes of the order
/// in which gradients become ready. Rounds with the same parameters have the same buckets, which
/// are listed once.
std::vector<int64_t> gradient_buckets(Step& step);

}  // namespace fathom::models
