#pragma once

#include <cstdint>
#include <limits>

namespace fathom::models {

/// Batch sizes from `least` to `most`.
struct BatchRange {
  int64_t least = 1;
  int64_t most = std::numeric_limits<int64_t>::max();

  bool contains(int64_t batch) const { return least <= batch && batch <= most; }
};

}  // namespace fathom::models
