#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fathom::benchmarks {

/// The candidates that `typed` most likely meant, best first, at most `count`: those that hold
/// something closest to it by edit distance. Empty where nothing is close.
std::vector<std::string> nearest(std::string_view typed, const std::vector<std::string>& candidates,
                                 std::size_t count);

}  // namespace fathom::benchmarks
