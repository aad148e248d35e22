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

/// Where the object begins whose definition of `function` this process calls; null if none has one.
void* owner(const char* function) {
  Dl_info object{};
  void* const used = dlsym(RTLD_DEFAULT, function);
  return used != nullptr && dladdr(used, &object) != 0 ? object.dli_fbase : nullptr;
}

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

std::string allocator() {
  Dl_info object{};
  void* const used = dlsym(RTLD_DEFAULT, "malloc");
  if (used == nullptr || dladdr(used, &object) == 0 || object.dli_fname == nullptr) return "";
  const std::string path = object.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

void set_malloc_tuning(Malloc malloc) {
  if (malloc == Malloc::kStock) return;
  if (owner("malloc") != owner("gnu_get_libc_version")) {
    throw UsageError("--fathom_malloc=tuned: malloc is that of " + allocator() +
                     ", expected the C library's; leave out LD_PRELOAD or use "
                     "--fathom_malloc=stock");
  }
  if (mallopt(M_MMAP_THRESHOLD, kMinMapped) != 1 || mallopt(M_TRIM_THRESHOLD, INT_MAX) != 1) {
    throw UsageError("--fathom_malloc=tuned: mallopt() of this C library refuses the settings");
  }
}

}  // namespace fathom::benchmarks
