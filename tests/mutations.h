#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fixtures/random.h"

namespace fathom::tests {

/// `file` with one to four faults: bits flipped, bytes replaced, taken out, doubled, the end cut
/// off.
inline std::vector<uint8_t> mutated(std::vector<uint8_t> file, fixtures::Random& random) {
  for (int64_t faults = 1 + random.below(4); faults > 0 && !file.empty(); --faults) {
    // Half of them near the start, where headers are.
    const int64_t reach = random.chance(0.5) ? std::ssize(file) : 1 + std::ssize(file) / 50;
    const auto at = file.begin() + random.below(reach);
    const auto end = at + random.below(1 + std::min<int64_t>(20, file.end() - at));
    switch (random.below(5)) {
      case 0:
        *at ^= static_cast<uint8_t>(1 << random.below(8));
        break;
      case 1:
        *at = static_cast<uint8_t>(random.below(256));
        break;
      case 2:
        file.erase(at, end);
        break;
      case 3: {
        const std::vector<uint8_t> part(at, end);
        file.insert(end, part.begin(), part.end());
        break;
      }
      default:
        file.erase(file.end() - random.below(1 + std::min<int64_t>(40, std::ssize(file))),
                   file.end());
    }
  }
  return file;
}

}  // namespace fathom::tests
