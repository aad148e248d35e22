#pragma once

#include <array>
#include <string>
#include <string_view>

namespace fathom::benchmarks {

/// How LibTorch's MKL chooses its kernels.
enum class Mkl {
  kStock,   ///< as shipped: the widest kernels on Intel's CPUs only
  kNative,  ///< by the instruction sets of the CPU, of any vendor
};

inline constexpr std::array<std::string_view, 2> kMklNames{"stock", "native"};

constexpr std::string_view name(Mkl mkl) { return kMklNames[static_cast<std::size_t>(mkl)]; }

/// How the C library treats freed memory.
enum class Malloc {
  kStock,  ///< returns large blocks to the system, so that new ones cost page faults
  kTuned,  ///< keeps freed memory
};

inline constexpr std::array<std::string_view, 2> kMallocNames{"stock", "tuned"};

constexpr std::string_view name(Malloc malloc) {
  return kMallocNames[static_cast<std::size_t>(malloc)];
}

/// Whether LibTorch has an MKL that asks whether the CPU is Intel's.
bool mkl_asks_for_vendor();

/// Applies to the whole process. Call it before the first call of MKL, which asks only once. Throws
/// UsageError where this LibTorch has no MKL that asks.
void set_mkl_dispatch(Mkl mkl);

/// The file name of the library whose malloc() this process calls, as "libc.so.6" or
/// "libjemalloc.so.2"; of the program where it is linked in; empty if unknown.
std::string allocator();

/// Applies to the whole process from now on. Throws UsageError where the C library refuses, and
/// where malloc() is another library's, which has no such settings.
void set_malloc_tuning(Malloc malloc);

}  // namespace fathom::benchmarks

extern "C" {
/// MKL calls this to ask whether the CPU is Intel's. The program's definition precedes MKL's own in
/// the symbol lookup.
int mkl_serv_intel_cpu_true();
}
