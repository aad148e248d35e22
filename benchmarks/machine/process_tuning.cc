#include "benchmarks/machine/process_tuning.h"

#include <dlfcn.h>
#include <malloc.h>

#include <climits>

#include "benchmarks/error.h"

namespace {

constexpr const char* kQuestion = "mkl_serv_intel_cpu_true";
constexpr int kMinMapped = 1 << 30;  // bytes; smaller blocks come from the heap

bool native = false;

using Answer = int (*)();

/// The answer of LibTorch's MKL; null where LibTorch has no MKL.
Answer stock_answer() { return reinterpret_cast<Answer>(dlsym(RTLD_NEXT, kQuestion)); }

}  // namespace

int mkl_serv_intel_cpu_true() {
  static const Answer stock = stock_answer();
  return native || stock == nullptr ? 1 : stock();
}

namespace fathom::benchmarks {

bool mkl_asks_for_vendor() {
  return stock_answer() != nullptr &&
         dlsym(RTLD_DEFAULT, kQuestion) == reinterpret_cast<void*>(mkl_serv_intel_cpu_true);
}

void set_mkl_dispatch(Mkl mkl) {
  native = mkl == Mkl::kNative;
  if (native && !mkl_asks_for_vendor()) {
    throw UsageError(
        "--fathom_mkl=native: this LibTorch has no MKL that asks for the CPU's vendor");
  }
}

void set_malloc_tuning(Malloc malloc) {
  if (malloc == Malloc::kStock) return;
  if (mallopt(M_MMAP_THRESHOLD, kMinMapped) != 1 || mallopt(M_TRIM_THRESHOLD, INT_MAX) != 1) {
    throw UsageError("--fathom_malloc=tuned: mallopt() of this C library refuses the settings");
  }
}

}  // namespace fathom::benchmarks
