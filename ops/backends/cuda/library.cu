#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>

#include "ops/kernels/cuda/library.h"

namespace fathom::ops {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerProcessor = 8;
constexpr int kChains = 8;
constexpr int kRounds = 1 << 14;
constexpr int kTries = 5;
constexpr size_t kCopied = size_t{1} << 30;

/// Independent chains of multiply-adds in registers. The store keeps the compiler from removing
/// them.
__global__ void multiply_add(float* sink, float factor, float start) {
  float chains[kChains];
  for (float& chain : chains) chain = start + threadIdx.x;
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (float& chain : chains) chain = fmaf(chain, factor, start);
  }
  float sum = 0;
  for (const float chain : chains) sum += chain;
  if (sum == -1) *sink = sum;
}

/// The shortest time of kTries launches after a warm-up, in seconds; 0 where CUDA reports an error.
template <typename Launch>
double best_seconds(Launch launch) {
  cudaEvent_t begin{};
  cudaEvent_t end{};
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float best = 0;
  for (int attempt = 0; attempt <= kTries; ++attempt) {
    cudaEventRecord(begin);
    launch();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin, end);
    if (attempt > 0) best = best == 0 ? milliseconds : std::min(best, milliseconds);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return cudaGetLastError() == cudaSuccess ? best * 1e-3 : 0;
}

double rate(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

CudaDevice device() {
  CudaDevice found{};
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return found;
  std::memcpy(found.name, properties.name, sizeof found.name);
  found.memory_bytes = static_cast<double>(properties.totalGlobalMem);
  found.l2_bytes = properties.l2CacheSize;
  cudaDriverGetVersion(&found.driver);
  cudaRuntimeGetVersion(&found.runtime);
  found.cublas = static_cast<int>(cublasLtGetVersion());
  return found;
}

double multiply_add_flops() {
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) return 0;
  const int blocks = kBlocksPerProcessor * device.multiProcessorCount;
  float* sink = nullptr;
  if (cudaMalloc(&sink, sizeof(float)) != cudaSuccess) return 0;
  const double seconds =
      best_seconds([&] { multiply_add<<<blocks, kThreads>>>(sink, 0.5F, 1.0F); });
  cudaFree(sink);
  return rate(2.0 * kChains * kRounds * kThreads * blocks, seconds);
}

double copy_bytes() {
  void* from = nullptr;
  void* to = nullptr;
  double seconds = 0;
  if (cudaMalloc(&from, kCopied) == cudaSuccess && cudaMalloc(&to, kCopied) == cudaSuccess) {
    seconds = best_seconds([&] { cudaMemcpyAsync(to, from, kCopied, cudaMemcpyDeviceToDevice); });
  }
  cudaFree(from);
  cudaFree(to);
  return rate(2.0 * kCopied, seconds);
}

}  // namespace
}  // namespace fathom::ops

extern "C" const fathom::ops::CudaLibrary* fathom_cuda_library() {
  static constexpr fathom::ops::CudaLibrary kLibrary{
      .device = fathom::ops::device,
      .multiply_add_flops = fathom::ops::multiply_add_flops,
      .copy_bytes = fathom::ops::copy_bytes,
      .response_norm = fathom::ops::response_norm,
      .response_norm_backward = fathom::ops::response_norm_backward,
      .lstm_gates = fathom::ops::lstm_gates,
      .lstm_gates_backward = fathom::ops::lstm_gates_backward,
      .fused_clip = fathom::ops::fused_clip,
      .fused_update = fathom::ops::fused_update,
      .capture_graphs = fathom::ops::capture_graphs,
      .make_vendor_kernel = fathom::ops::make_vendor_kernel};
  return &kLibrary;
}
