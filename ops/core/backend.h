#pragma once

#include <array>
#include <string_view>

namespace fathom::ops {

/// The code that runs an op: LibTorch called eagerly (torch), a vendor's library called directly
/// (onednn, cublas, cudnn), this project's kernels (native), the fastest of these for each op of a
/// step (tuned), LibTorch's oneDNN on weights that were reordered before (torch_packed), a user's
/// network that AOTInductor compiled (inductor), or a user's library, whose rows have its name.
enum class Backend {
  kTorch,
  kOneDnn,
  kCublas,
  kCudnn,
  kNative,
  kTuned,
  kTorchPacked,
  kInductor,
  kLibrary
};

/// Of those before kLibrary.
inline constexpr std::array<std::string_view, 8> kBackendNames{
    "torch", "onednn", "cublas", "cudnn", "native", "tuned", "torch_packed", "inductor"};

constexpr std::string_view name(Backend backend) {
  return backend == Backend::kLibrary ? "library"
                                      : kBackendNames[static_cast<std::size_t>(backend)];
}

}  // namespace fathom::ops
