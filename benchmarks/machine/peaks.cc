#include "benchmarks/machine/peaks.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/machine/disturbances.h"
#include "benchmarks/machine/gpu/gpu_peaks.h"
#include "benchmarks/machine/multiply_add.h"
#include "fixtures/machine/team.h"
#include "ops/backends/vendor.h"
#include "ops/core/check.h"
#include "ops/cuda/library.h"
#include "ops/types/table.h"

namespace fathom::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Two tries are enough where they agree. The others are for disturbed machines.
constexpr std::size_t kMaxTries = 5;
constexpr double kMaxSeconds = 5;  // no further try after them: on large caches one takes seconds
constexpr double kAgree = 0.02;    // quiet tries are closer
constexpr double kDisturbed = 0.01;

/// The shortest of several runs, after one to warm up: noise only adds time. Ends after five runs
/// and 40 ms, or after three and 200 ms.
double best_seconds(const std::function<void()>& work) {
  work();
  double best = seconds_of(work);
  double spent = best;
  for (int runs = 1; runs < 3 || spent < 0.04 || (runs < 5 && spent < 0.2); ++runs) {
    const double seconds = seconds_of(work);
    spent += seconds;
    best = std::min(best, seconds);
  }
  return best;
}

/// The threads start each run together. A run takes less than a millisecond, so that even beside
/// busy processes some runs lie within a time slice of every thread.
double multiply_add_flops(const MultiplyAdd& loop, int threads) {
  constexpr int64_t kRounds = 100'000;  // some 0.3 ms
  constexpr std::size_t kRuns = 256;
  struct Run {
    Clock::time_point begin;
    Clock::time_point end;
  };
  std::vector<std::vector<Run>> runs(static_cast<std::size_t>(threads), std::vector<Run>(kRuns));
#pragma omp parallel num_threads(threads)
  for (auto& run : runs[static_cast<std::size_t>(omp_get_thread_num())]) {
#pragma omp barrier
    run.begin = Clock::now();
    benchmark::DoNotOptimize(loop.run(kRounds));
    run.end = Clock::now();
  }
  auto best = Clock::duration::max();
  for (std::size_t i = 0; i < kRuns; ++i) {
    Run all = runs[0][i];
    for (const auto& thread : runs) {
      all.begin = std::min(all.begin, thread[i].begin);
      all.end = std::max(all.end, thread[i].end);
    }
    best = std::min(best, all.end - all.begin);
  }
  const double seconds = std::chrono::duration<double>(best).count();
  return multiply_add_rate(loop.flops_a_round, kRounds, threads, seconds);
}

/// Offers the FLOP/s of a product of two matrices [side, side], drawn once, with each backend that
/// is here.
void offer_gemm(Peak& peak, int64_t side, fixtures::Device device, fixtures::Precision precision) {
  constexpr std::array<std::pair<ops::Backend, const char*>, 3> kGemms{
      {{ops::Backend::kOneDnn, "oneDNN GEMM"},
       {ops::Backend::kTorch, "LibTorch GEMM"},
       {ops::Backend::kCublas, "cuBLAS GEMM"}}};
  const bool int8 = precision == fixtures::Precision::kInt8;
  const bool codes = int8 || precision == fixtures::Precision::kFp8;
  ops::FieldRow shape{{"m", side}, {"n", side}, {"k", side}};
  if (codes) shape.emplace_back("format", std::string(name(precision)));
  if (int8 && device == fixtures::Device::kCuda) shape.emplace_back("per_token", true);
  ops::FieldLoader fields(shape);
  const auto matmul =
      ops::op_type(codes ? "quantized_matmul" : "matmul")->make(fields, ops::Pass::kForward);
  const ops::Tensors inputs = ops::converted(matmul->inputs(0), ops::scalar_type(precision),
                                             fixtures::torch_device(device));
  const ops::Call call = matmul->call(inputs);
  ops::Tensors outputs = call();
  for (const auto& [backend, name] : kGemms) {
    if (!ops::is_here(backend, device, precision)) continue;
    std::unique_ptr<ops::Kernel> kernel;
    try {
      if (ops::is_vendor(backend))
        kernel = ops::vendor_kernel(backend, matmul->problem(inputs, outputs), precision);
    } catch (const ops::NotSupported&) {
      continue;
    }
    // oneDNN's reference: for vgg's fc6 in fp16, 3.2 took some 900 times as long as LibTorch.
    if (kernel != nullptr && kernel->implementation().starts_with("ref")) continue;
    const double seconds = best_seconds([&] {
      if (kernel != nullptr) {
        kernel->run();
      } else {
        outputs = call();
      }
      fixtures::synchronize(device);
    });
    peak.offer(matmul->cost(precision).flops / seconds, name);
  }
}

Peak measure_cpu_flops(int threads, fixtures::Precision precision) {
  constexpr int64_t kSide = 1024;  // 12 MB, some 20 ms on one core
  fixtures::set_threads(threads);
  Peak peak;
  if (!fixtures::team_doubt(threads).empty()) return peak;  // unknown
  if (const MultiplyAdd loop = widest_multiply_add(precision); loop.run != nullptr) {
    peak.offer(multiply_add_flops(loop, threads), loop.name + " multiply-add loop");
  }
  offer_gemm(peak, kSide, fixtures::Device::kCpu, precision);
  return peak;
}

Peak measure_cpu_bytes(int threads) {
  fixtures::set_threads(threads);
  if (!fixtures::team_doubt(threads).empty()) return {};
  const double bytes =
      std::max(64e6, kBeyondCache * last_level_cache_bytes(fixtures::Device::kCpu, threads));
  const at::Tensor from = at::ones({static_cast<int64_t>(bytes / sizeof(float))});
  const at::Tensor to = at::ones_like(from);
  Peak peak;
  const auto offer = [&](const MemoryKernel& kernel, const std::function<void()>& run) {
    peak.offer(kernel, bytes, best_seconds(run));
  };
  offer(kRead, [&] { benchmark::DoNotOptimize(from.sum()); });
  offer(kCopy, [&] { to.copy_(from); });
  to.zero_();
  offer(kScale, [&] { to.mul_(1); });
  offer(kAdd, [&] { to.add_(from); });
  return peak;
}

Peak measure_cuda_flops(fixtures::Precision precision) {
  constexpr std::array<int64_t, 3> kSides{8192, 4096, 2048};
  fixtures::allow_tf32(precision == fixtures::Precision::kTf32);
  Peak peak;
  first_that_runs(kSides, [&](int64_t side) {
    offer_gemm(peak, side, fixtures::Device::kCuda, precision);
    return peak.rate;
  });
  at::accelerator::emptyCache();  // rows in processes of their own need the memory
  if (precision == fixtures::Precision::kFp32 && ops::cuda_library() != nullptr) {
    peak.offer(ops::cuda_library()->multiply_add_flops(), "fp32 multiply-add loop");
  }
  return peak;
}

Peak measure_once(const PeakKey& key) {
  if (key.device == fixtures::Device::kCpu) {
    return key.precision ? measure_cpu_flops(key.threads, *key.precision)
                         : measure_cpu_bytes(key.threads);
  }
  return key.precision ? measure_cuda_flops(*key.precision) : measure_cuda_bytes();
}

/// The tries of a key that is being measured.
struct Measuring {
  PeakKey key;
  std::vector<PeakTry> tries = {};
  double seconds = 0;

  /// One try is enough on a GPU: no other process takes time from its kernels.
  bool done() const {
    return key.device == fixtures::Device::kCuda || tries.size() >= kMaxTries ||
           seconds >= kMaxSeconds || agree(tries);
  }
  void try_once() {
    const TakenTimer taken;
    PeakTry one;
    const double spent = seconds_of([&] { one.peak = measure_once(key); });
    one.disturbed = taken.seconds().all().value_or(0) > kDisturbed * spent;
    tries.push_back(std::move(one));
    seconds += spent;
  }
};

std::string giga(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g GFLOP/s", rate / 1e9);
  return text;
}

}  // namespace

void Peak::offer(double reached, const std::string& by) {
  if (reached <= rate) return;
  rate = reached;
  from = by;
}

void Peak::offer(const MemoryKernel& kernel, double buffer_bytes, double seconds) {
  const double reached = memory_rate(kernel, buffer_bytes, seconds);
  offer(reached, kernel.name);
  if (kernel.only_reads) reading = reached;
}

Peak best_of(std::span<const PeakTry> tries) {
  Peak best;
  double slowest = std::numeric_limits<double>::infinity();
  for (const auto& one : tries) {
    best.offer(one.peak.rate, one.peak.from);
    best.reading = std::max(best.reading, one.peak.reading);
    slowest = std::min(slowest, one.peak.rate);
  }
  best.tries = static_cast<int>(tries.size());
  if (best.rate > 0) best.spread_pct = 100 * (1 - slowest / best.rate);
  return best;
}

bool agree(std::span<const PeakTry> tries) {
  double best = -1;
  double second = -1;
  for (const auto& one : tries) {
    if (one.disturbed) continue;
    second = std::max(second, std::min(best, one.peak.rate));
    best = std::max(best, one.peak.rate);
  }
  return second >= 0 && second >= (1 - kAgree) * best;
}

std::string scaling_doubt(const Peak& one, const Peak& two) {
  constexpr double kScaling = 1.8;
  if (one.rate <= 0 || two.rate <= 0 || two.rate >= kScaling * one.rate) return {};
  return "two threads reach " + giga(two.rate) + ", one reaches " + giga(one.rate) +
         ": their CPUs share a core, or another process or virtual machine uses one; shares of the "
         "two-thread peak may be too high";
}

double multiply_add_rate(double flops_a_round, int64_t rounds, int threads, double seconds) {
  return flops_a_round * static_cast<double>(rounds) * threads / seconds;
}

double memory_rate(const MemoryKernel& kernel, double buffer_bytes, double seconds) {
  return kernel.passes * buffer_bytes / seconds;
}

std::string bytes_peak_name(fixtures::Device device, int threads) {
  return "peak_bytes_" + std::string(name(device)) + "_threads" + std::to_string(threads);
}

std::string flops_peak_name(fixtures::Device device, int threads, fixtures::Precision precision) {
  return "peak_flops_" + std::string(name(device)) + "_threads" + std::to_string(threads) + "_" +
         std::string(name(fixtures::arithmetic(precision)));
}

std::string PeakKey::name() const {
  return precision ? flops_peak_name(device, threads, *precision)
                   : bytes_peak_name(device, threads);
}

void Peaks::measure(std::span<const PeakKey> keys) {
  std::map<std::string, Measuring> measuring;
  for (const auto& key : keys) {
    if (!peaks_.contains(key.name())) measuring.try_emplace(key.name(), Measuring{.key = key});
  }
  while (!measuring.empty()) {
    for (auto& [name, one] : measuring) one.try_once();
    std::erase_if(measuring, [&](const auto& entry) {
      if (!entry.second.done()) return false;
      peaks_[entry.first] = best_of(entry.second.tries);
      return true;
    });
  }
}

const Peak* Peaks::find(const PeakKey& key) const {
  const auto found = peaks_.find(key.name());
  return found == peaks_.end() ? nullptr : &found->second;
}

const Peak& Peaks::of(const PeakKey& key) {
  measure({&key, 1});
  return peaks_.at(key.name());
}

double last_level_cache_bytes(fixtures::Device device, int threads) {
  if (device == fixtures::Device::kCuda) {
    if (ops::cuda_library() == nullptr) return 0;
    static const double bytes = ops::cuda_library()->device().l2_bytes;  // asked for every op row
    return bytes;
  }
  return largest_reached_bytes(benchmark::CPUInfo::Get().caches, threads);
}

double largest_reached_bytes(const std::vector<benchmark::CPUInfo::CacheInfo>& levels,
                             int threads) {
  double largest = 0;
  for (const auto& level : levels) {
    const int sharing = std::max(level.num_sharing, 1);
    const int caches = (threads + sharing - 1) / sharing;
    largest = std::max(largest, static_cast<double>(level.size) * caches);
  }
  return largest;
}

}  // namespace fathom::benchmarks
