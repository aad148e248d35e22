#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/explain/explain.h"

namespace fathom::benchmarks {

/// What would make the step shorter, as the numbers show it.
struct Finding {
  std::string_view kind;  ///< "kernel", "memory", "between_ops" or "in_step"
  double saving_us;       ///< of a step, above 0
  bool at_most;           ///< the saving is a bound
  std::string words;
};

/// Those with the largest savings, best first, at most `count`.
std::vector<Finding> findings(const Explanation& explanation, std::size_t count = 3);

}  // namespace fathom::benchmarks
