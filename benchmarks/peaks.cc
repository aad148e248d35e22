#include "benchmarks/peaks.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/multiply_add.h"
#include "ops/cuda/library.h"
#include "ops/table.h"

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
  const nlohmann::json row{{"m", side}, {"n", side}, {"k", side}};
  ops::Fields fields(row, "peak");
  const auto matmul = ops::make_matmul(fields);
  ops::Tensors inputs = matmul->inputs(0);
  const auto type = precision == fixtures::Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  for (auto& input : inputs) input = input.to(fixtures::torch_device(device), type);
  ops::Tensors outputs = matmul->run(inputs);
  const auto kernel = matmul->kernel(backend, precision, inputs, outputs);
  if (kernel == nullptr && backend != ops::Backend::kTorch) return 0;
  const double seconds = best_seconds([&] {
    if (kernel != nullptr) {
      kernel->run();
    } else {
      outputs = matmul->run(inputs);
    }
    fixtures::synchronize(device);
  });
  return matmul->cost(precision).flops / seconds;
}

/// Reading one large buffer, and copying it to another (read and written bytes both count).
void measure_bytes(Peak& peak) {
  const auto elements =
      static_cast<int64_t>(std::max(64e6, 4 * last_level_cache_bytes()) / sizeof(float));
  const at::Tensor from = at::ones({elements});
  const at::Tensor to = at::ones({elements});
  const double bytes = static_cast<double>(elements) * sizeof(float);
  const double read = bytes / best_seconds([&] { benchmark::DoNotOptimize(from.sum()); });
  const double copied = 2 * bytes / best_seconds([&] { to.copy_(from); });
  peak.bytes = std::max(read, copied);
  peak.bytes_from = read > copied ? "read" : "copy";
}

void offer(Peak& peak, double flops, const std::string& from) {
  if (flops <= peak.flops) return;
  peak.flops = flops;
  peak.flops_from = from;
}

Peak measure_cpu(int threads, fixtures::Precision precision) {
  constexpr int64_t kSide = 1024;  // 12 MB, some 20 ms on one core
  fixtures::set_threads(threads);
  Peak peak;
  if (const MultiplyAdd loop = widest_multiply_add(precision); loop.run != nullptr) {
    offer(peak, multiply_add_flops(loop, threads), loop.name + " multiply-add loop");
  }
  offer(peak, gemm_flops(kSide, fixtures::Device::kCpu, precision, ops::Backend::kOneDnn),
        "oneDNN GEMM");
  offer(peak, gemm_flops(kSide, fixtures::Device::kCpu, precision, ops::Backend::kTorch),
        "LibTorch GEMM");
  measure_bytes(peak);
  return peak;
}

Peak measure_cuda(fixtures::Precision precision) {
  constexpr int64_t kSide = 8192;
  Peak peak;
  fixtures::allow_tf32(precision == fixtures::Precision::kTf32);
  offer(peak, gemm_flops(kSide, fixtures::Device::kCuda, precision, ops::Backend::kTorch),
        "LibTorch GEMM");
  const ops::CudaLibrary* library = ops::cuda_library();
  if (library == nullptr) return peak;
  if (precision == fixtures::Precision::kFp32)
    offer(peak, library->multiply_add_flops(), "fp32 multiply-add loop");
  peak.bytes = library->copy_bytes();
  peak.bytes_from = "copy";
  return peak;
}

}  // namespace

const Peak& Peaks::at(fixtures::Device device, int threads, fixtures::Precision precision) {
  const auto key = std::tuple(device, threads, precision);
  if (const auto known = measured_.find(key); known != measured_.end()) return known->second;
  return measured_[key] = device == fixtures::Device::kCpu ? measure_cpu(threads, precision)
                                                           : measure_cuda(precision);
}

double last_level_cache_bytes() {
  double largest = 0;
  for (const auto& cache : benchmark::CPUInfo::Get().caches)
    largest = std::max(largest, static_cast<double>(cache.size));
  return largest;
}

}  // namespace fathom::benchmarks
