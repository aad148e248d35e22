#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fathom::benchmarks {

/// Returns at most `count` candidates that contain something close to `typed` by edit distance,
/// closest first. Upper and lower case are equal. A candidate further than a third of the length of
/// `typed`, rounded up, is left out.
std::vector<std::string> nearest(std::string_view typed, const std::vector<std::string>& candidates,
                                 std::size_t count);

}  // namespace fathom::benchmarks
