#pragma once

#include <array>
#include <string_view>

namespace fathom::ops {

/// Whose code runs: LibTorch dispatched eagerly, or a vendor library called directly.
enum class Backend { kTorch, kOneDnn };

inline constexpr std::array<std::string_view, 2> kBackendNames{"torch", "onednn"};

constexpr std::string_view name(Backend backend) {
  return kBackendNames[static_cast<std::size_t>(backend)];
}

}  // namespace fathom::ops
