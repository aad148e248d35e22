#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace fathom::models {

/// How images and filters are stored: kContiguous is [N, C, H, W], kChannelsLast is PyTorch's
/// memory format channels_last, [N, H, W, C] in memory.
enum class Layout { kContiguous, kChannelsLast };

inline constexpr std::array<std::string_view, 2> kLayoutNames{"contiguous", "channels_last"};

constexpr std::string_view name(Layout layout) {
  return kLayoutNames[static_cast<std::size_t>(layout)];
}

}  // namespace fathom::models
