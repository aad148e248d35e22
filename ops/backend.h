#pragma once

#include <array>
#include <string_view>

namespace fathom::ops {

/// Whose code runs: LibTorch dispatched eagerly, a vendor library called directly, or our own
/// kernels, for what LibTorch lacks or composes.
enum class Backend { kTorch, kOneDnn, kNative };

inline constexpr std::array<std::string_view, 3> kBackendNames{"torch", "onednn", "native"};

constexpr std::string_view name(Backend backend) {
  return kBackendNames[static_cast<std::size_t>(backend)];
}

}  // namespace fathom::ops
