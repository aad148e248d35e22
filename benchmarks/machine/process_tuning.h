#pragma once

#include <array>
#include <string_view>

namespace fathom::benchmarks {

/// How LibTorch's MKL chooses its kernels.
enum class Mkl {
  kStock,   ///< as it comes: the widest ones on Intel's CPUs only
  kNative,  ///< by what the CPU can do, whoever made it
};

inline constexpr std::array<std::string_view, 2> kMklNames{"stock", "native"};

constexpr std::string_view name(Mkl mkl) { return kMklNames[static_cast<std::size_t>(mkl)]; }

/// What the C library does with freed memory.
enum class Malloc {
  kStock,  ///< gives large blocks back to the system, and gets them again page by page
  kTuned,  ///< keeps it
};

inline constexpr std::array<std::string_view, 2> kMallocNames{"stock", "tuned"};

constexpr std::string_view name(Malloc malloc) {
  return kMallocNames[static_cast<std::size_t>(malloc)];
}

/// For the whole process, and before MKL's first call: it asks once. Throws UsageError where this
/// LibTorch has no MKL that asks.
void choose(Mkl mkl);

/// For the whole process, from now on. Throws UsageError where the C library refuses.
void choose(Malloc malloc);

}  // namespace fathom::benchmarks

extern "C" {
/// MKL's question whether this is a CPU of Intel's. LibTorch asks through its table of symbols, in
/// which the program's own comes first.
int mkl_serv_intel_cpu_true();
}
