#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace fathom::benchmarks {

/// Where a call of an op finds its buffers: in the caches, where the call before left them, or in
/// memory, since the calls cycle through copies of the buffers.
enum class Cache { kHot, kCold };

inline constexpr std::array<std::string_view, 2> kCacheNames{"hot", "cold"};

constexpr std::string_view name(Cache cache) {
  return kCacheNames[static_cast<std::size_t>(cache)];
}

}  // namespace fathom::benchmarks
