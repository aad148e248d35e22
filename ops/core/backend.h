#pragma once

#include <array>
#include <string_view>

namespace fathom::ops {

/// Whose code runs: LibTorch dispatched eagerly, a vendor's library called directly, or our own
/// kernels, for what LibTorch lacks or composes.
enum class Backend { kTorch, kOneDnn, kCublas, kCudnn, kNative };

inline constexpr std::array<std::string_view, 5> kBackendNames{"torch", "onednn", "cublas", "cudnn",
                                                               "native"};

constexpr std::string_view name(Backend backend) {
  return kBackendNames[static_cast<std::size_t>(backend)];
}

}  // namespace fathom::ops
