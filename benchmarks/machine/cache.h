#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace fathom::benchmarks {

/// Where a call of an op finds its buffers. Hot: in the caches, since every call uses the same
/// ones. Cold: in memory, since the calls cycle through copies.
enum class Cache { kHot, kCold };

inline constexpr std::array<std::string_view, 2> kCacheNames{"hot", "cold"};

constexpr std::string_view name(Cache cache) {
  return kCacheNames[static_cast<std::size_t>(cache)];
}

}  // namespace fathom::benchmarks
