#include "benchmarks/machine/process_tuning.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <memory>

#include "benchmarks/error.h"
#include "benchmarks/google_benchmark.h"
#include "tests/benchmarks/own_process.h"

namespace fathom::benchmarks {
namespace {

bool has_mkl() { return dlsym(RTLD_NEXT, "mkl_serv_intel_cpu_true") != nullptr; }

TEST(MklDispatch, ReplacesLibTorchsAnswer) {
  if (!has_mkl()) {
    EXPECT_THROW(set_mkl_dispatch(Mkl::kNative), UsageError);
    GTEST_SKIP() << "this LibTorch has no MKL";
  }
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "mkl_serv_intel_cpu_true"),
            reinterpret_cast<void*>(mkl_serv_intel_cpu_true));
  set_mkl_dispatch(Mkl::kNative);
  EXPECT_EQ(mkl_serv_intel_cpu_true(), 1);
  set_mkl_dispatch(Mkl::kStock);
}

TEST(MklDispatch, KeepsLibTorchsAnswerWhereItIsStock) {
  if (!has_mkl()) GTEST_SKIP() << "this LibTorch has no MKL";
  set_mkl_dispatch(Mkl::kStock);
  const auto stock = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "mkl_serv_intel_cpu_true"));
  EXPECT_EQ(mkl_serv_intel_cpu_true(), stock());
}

TEST(MklDispatch, KeepsResultsWithinRounding) {
  if (!has_mkl()) GTEST_SKIP() << "this LibTorch has no MKL";
  in_own_process([] {  // MKL asks once
    set_mkl_dispatch(Mkl::kNative);
    const at::Tensor a = at::randn({127, 311});
    const at::Tensor b = at::randn({311, 65});
    const at::Tensor error =
        at::mm(a, b).to(at::kDouble) - at::mm(a.to(at::kDouble), b.to(at::kDouble));
    EXPECT_LT(error.abs().max().item<double>(), 1e-4);
  });
}

/// Page faults while 64 MB are allocated and written, the second time.
int64_t faults_again() {
  constexpr std::size_t kBytes = 64 << 20;
  const auto faults = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  int64_t before = 0;
  for (int time = 0; time < 2; ++time) {
    before = faults();
    const std::unique_ptr<char, void (*)(void*)> block(static_cast<char*>(std::malloc(kBytes)),
                                                       std::free);
    std::memset(block.get(), 1, kBytes);
    benchmark::DoNotOptimize(block.get());
    benchmark::ClobberMemory();
  }
  return faults() - before;
}

TEST(MallocTuning, KnowsWhoseMallocIsCalled) { EXPECT_EQ(allocator(), "libc.so.6"); }

TEST(MallocTuning, KeepsFreedMemoryWhereItIsTuned) {
  in_own_process([] {  // malloc's settings cannot be read or reset
    set_malloc_tuning(Malloc::kStock);
    const int64_t stock = faults_again();
    set_malloc_tuning(Malloc::kTuned);
    const int64_t tuned = faults_again();
    EXPECT_GT(stock, 10);
    EXPECT_LT(tuned, stock / 10);
  });
}

}  // namespace
}  // namespace fathom::benchmarks
