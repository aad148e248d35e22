#pragma once

#include <array>
#include <string_view>

namespace fathom::benchmarks {

/// How LibTorch's MKL chooses its kernels.
enum class Mkl {
  kStock,   ///< as shipped: the widest ones on Intel's CPUs only
  kNative,  ///< by the CPU's instruction sets, whoever made it
};

inline constexpr std::array<std::string_view, 2> kMklNames{"stock", "native"};

constexpr std::string_view name(Mkl mkl) { return kMklNames[static_cast<std::size_t>(mkl)]; }

/// What the C library does with freed memory.
enum class Malloc {
  kStock,  ///< returns large blocks to the system and gets them again page by page
  kTuned,  ///< keeps freed memory
};

inline constexpr std::array<std::string_view, 2> kMallocNames{"stock", "tuned"};

constexpr std::string_view name(Malloc malloc) {
  return kMallocNames[static_cast<std::size_t>(malloc)];
}

/// Applies to the whole process; call it before MKL's first call, which asks once. Throws
/// UsageError where this LibTorch has no MKL that asks.
void set_mkl_dispatch(Mkl mkl);

/// Applies to the whole process from now on. Throws UsageError where the C library refuses.
void set_malloc_tuning(Malloc malloc);

}  // namespace fathom::benchmarks

extern "C" {
/// MKL calls this to ask whether the CPU is Intel's. The program's own definition comes first in
/// LibTorch's symbol lookup.
int mkl_serv_intel_cpu_true();
}
