#pragma once

#include <array>
#include <string_view>

namespace fathom::ops {

/// The code that runs an op: LibTorch called eagerly (torch), a vendor's library called directly
/// (onednn, cublas, cudnn), this project's kernels (native), or a user's (KernelLibrary), whose
/// rows have the library's name.
enum class Backend { kTorch, kOneDnn, kCublas, kCudnn, kNative, kLibrary };

/// Of those before kLibrary.
inline constexpr std::array<std::string_view, 5> kBackendNames{"torch", "onednn", "cublas", "cudnn",
                                                               "native"};

constexpr std::string_view name(Backend backend) {
  return backend == Backend::kLibrary ? "library"
                                      : kBackendNames[static_cast<std::size_t>(backend)];
}

}  // namespace fathom::ops
