#include "benchmarks/machine/peaks.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/machine/multiply_add.h"
#include "ops/backends/vendor.h"
#include "ops/kernels/cuda/library.h"
#include "ops/types/table.h"

namespace fathom::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The shortest of several runs: noise only ever adds time. Ends when five runs and 0.1 s have
/// brought nothing, or after 1 s.
double best_seconds(const std::function<void()>& work) {
  work();
  double best = seconds_of(work);
  double spent = best;
  double last_gain = 0;
  for (int in_vain = 0; spent < 1 && (in_vain < 5 || spent - last_gain < 0.1); ++in_vain) {
    const double seconds = seconds_of(work);
    spent += seconds;
    if (seconds < 0.99 * best) {
      last_gain = spent;
      in_vain = 0;
    }
    best = std::min(best, seconds);
  }
  return best;
}

double multiply_add_flops(const MultiplyAdd& loop, int threads) {
  constexpr int64_t kRounds = 1'000'000;  // some 4 ms
  const double seconds = best_seconds([&] {
#pragma omp parallel num_threads(threads)
    benchmark::DoNotOptimize(loop.run(kRounds));
  });
  return loop.flops_a_round * kRounds * threads / seconds;
}

/// A square product of `side`, on one backend.
double gemm_flops(int64_t side, fixtures::Device device, fixtures::Precision precision,
                  ops::Backend backend) {
  const ops::FieldRow shape{{"m", side}, {"n", side}, {"k", side}};
  ops::FieldLoader fields(shape);
  const auto matmul = ops::op_type("matmul")->make(fields, ops::Pass::kForward);
  ops::Tensors inputs = matmul->inputs(0);
  const auto type = precision == fixtures::Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  for (auto& input : inputs) input = input.to(fixtures::torch_device(device), type);
  const ops::Call call = matmul->call(inputs);
  ops::Tensors outputs = call();
  if (!ops::is_here(backend, device, precision)) return 0;
  std::unique_ptr<ops::Kernel> kernel;
  if (ops::is_vendor(backend)) {
    kernel = ops::vendor_kernel(backend, matmul->problem(inputs, outputs), precision);
  }
  const double seconds = best_seconds([&] {
    if (kernel != nullptr) {
      kernel->run();
    } else {
      outputs = call();
    }
    fixtures::synchronize(device);
  });
  return matmul->cost(precision).flops / seconds;
}

Peak measure_cpu_flops(int threads, fixtures::Precision precision) {
  constexpr int64_t kSide = 1024;  // 12 MB, some 20 ms on one core
  fixtures::set_threads(threads);
  const auto gemm = [&](ops::Backend backend) {
    return gemm_flops(kSide, fixtures::Device::kCpu, precision, backend);
  };
  Peak peak;
  if (const MultiplyAdd loop = widest_multiply_add(precision); loop.run != nullptr) {
    peak.offer(multiply_add_flops(loop, threads), loop.name + " multiply-add loop");
  }
  peak.offer(gemm(ops::Backend::kOneDnn), "oneDNN GEMM");
  peak.offer(gemm(ops::Backend::kTorch), "LibTorch GEMM");
  return peak;
}

/// Read and written bytes both count. A copy moves more than that: caches fetch a line that is
/// about to be written, which an update in place reads anyway.
Peak measure_cpu_bytes(int threads) {
  fixtures::set_threads(threads);
  const double bytes =
      std::max(64e6, kBeyondCache * last_level_cache_bytes(fixtures::Device::kCpu, threads));
  const at::Tensor from = at::ones({static_cast<int64_t>(bytes / sizeof(float))});
  const at::Tensor to = at::ones_like(from);
  Peak peak;
  peak.offer(bytes / best_seconds([&] { benchmark::DoNotOptimize(from.sum()); }), "read");
  peak.offer(2 * bytes / best_seconds([&] { to.copy_(from); }), "copy");
  to.zero_();
  peak.offer(2 * bytes / best_seconds([&] { to.mul_(1); }), "scale in place");
  peak.offer(3 * bytes / best_seconds([&] { to.add_(from); }), "add in place");
  return peak;
}

Peak measure_cuda_flops(fixtures::Precision precision) {
  constexpr int64_t kSide = 8192;
  fixtures::allow_tf32(precision == fixtures::Precision::kTf32);
  Peak peak;
  peak.offer(gemm_flops(kSide, fixtures::Device::kCuda, precision, ops::Backend::kTorch),
             "LibTorch GEMM");
  peak.offer(gemm_flops(kSide, fixtures::Device::kCuda, precision, ops::Backend::kCublas),
             "cuBLAS GEMM");
  if (precision == fixtures::Precision::kFp32 && ops::cuda_library() != nullptr) {
    peak.offer(ops::cuda_library()->multiply_add_flops(), "fp32 multiply-add loop");
  }
  return peak;
}

Peak measure_cuda_bytes() {
  Peak peak;
  if (ops::cuda_library() != nullptr) peak.offer(ops::cuda_library()->copy_bytes(), "copy");
  return peak;
}

}  // namespace

void Peak::offer(double reached, const std::string& by) {
  if (reached <= rate) return;
  rate = reached;
  from = by;
}

std::string bytes_peak_name(fixtures::Device device, int threads) {
  return "peak_bytes_" + std::string(name(device)) + "_threads" + std::to_string(threads);
}

std::string flops_peak_name(fixtures::Device device, int threads, fixtures::Precision precision) {
  return "peak_flops_" + std::string(name(device)) + "_threads" + std::to_string(threads) + "_" +
         std::string(name(precision));
}

const Peak& Peaks::flops(fixtures::Device device, int threads, fixtures::Precision precision) {
  const auto [place, absent] = peaks_.try_emplace(flops_peak_name(device, threads, precision));
  if (absent) {
    place->second = device == fixtures::Device::kCpu ? measure_cpu_flops(threads, precision)
                                                     : measure_cuda_flops(precision);
  }
  return place->second;
}

const Peak& Peaks::bytes(fixtures::Device device, int threads) {
  const auto [place, absent] = peaks_.try_emplace(bytes_peak_name(device, threads));
  if (absent) {
    place->second =
        device == fixtures::Device::kCpu ? measure_cpu_bytes(threads) : measure_cuda_bytes();
  }
  return place->second;
}

double last_level_cache_bytes(fixtures::Device device, int threads) {
  if (device == fixtures::Device::kCuda) {
    return ops::cuda_library() == nullptr ? 0 : ops::cuda_library()->device().l2_bytes;
  }
  double largest = 0;
  for (const auto& cache : benchmark::CPUInfo::Get().caches) {
    const int sharing = std::max(cache.num_sharing, 1);
    const int caches = (threads + sharing - 1) / sharing;
    largest = std::max(largest, static_cast<double>(cache.size) * caches);
  }
  return largest;
}

}  // namespace fathom::benchmarks
