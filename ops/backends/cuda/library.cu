#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>

#include "ops/backends/cuda/device_memory.h"
#include "ops/backends/cuda/vendor_kernels.h"
#include "ops/cuda/cached_memory.h"
#include "ops/cuda/graphs.h"
#include "ops/cuda/library.h"
#include "ops/kernels/cuda/fused_clip.h"
#include "ops/kernels/cuda/fused_update.h"
#include "ops/kernels/cuda/local_response_norm.h"
#include "ops/kernels/cuda/lstm_gates.h"
#include "ops/kernels/cuda/nms.h"
#include "ops/kernels/cuda/roi_align.h"
#include "ops/kernels/cuda/selective_scan.h"

namespace fathom::ops {
namespace {

using cuda::check;

constexpr int kThreads = 256;
constexpr int kBlocksPerProcessor = 8;
constexpr int kChains = 8;
constexpr int kRounds = 1 << 14;
constexpr size_t kBuffer = size_t{1} << 30;
constexpr int kLoads = 4;            // of 16 bytes, per thread
constexpr int kSmallNumbers = 0x3c;  // repeated four times a float near 0.01

/// A store to it keeps the compiler from removing what a kernel computes.
__device__ float sink;

/// Independent chains of multiply-adds in registers.
__global__ void multiply_add(float factor, float start) {
  float chains[kChains];
  for (float& chain : chains) chain = start + threadIdx.x;
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (float& chain : chains) chain = fmaf(chain, factor, start);
  }
  float sum = 0;
  for (const float chain : chains) sum += chain;
  if (sum == -1) sink = sum;
}

/// The shortest of several launches on the default stream, in seconds.
template <typename Launch>
double best_seconds(const Launch& launch) {
  const auto checked = [&] {
    launch();
    check(cudaGetLastError());
  };
  return cuda::best_milliseconds(/*stream=*/nullptr, checked) * 1e-3;
}

int attribute(cudaDeviceAttr name) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, 0));
  return value;
}

CudaDevice device() {
  CudaDevice found{};
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0));
  std::memcpy(found.name, properties.name, sizeof found.name);
  check(cudaDeviceGetPCIBusId(found.pci_bus_id, sizeof found.pci_bus_id, 0));
  found.memory_bytes = static_cast<double>(properties.totalGlobalMem);
  found.l2_bytes = properties.l2CacheSize;
  check(cudaDriverGetVersion(&found.driver));
  check(cudaRuntimeGetVersion(&found.runtime));
  found.cublas = static_cast<int>(cublasLtGetVersion());
  return found;
}

double multiply_add_flops() {
  const int blocks = kBlocksPerProcessor * attribute(cudaDevAttrMultiProcessorCount);
  const double seconds = best_seconds([&] { multiply_add<<<blocks, kThreads>>>(0.5F, 1.0F); });
  return 2.0 * kChains * kRounds * kThreads * blocks / seconds;
}

// What a kernel writes or sums: an element of a buffer, scaled, or of two buffers, added.

struct Copied {
  const float4* from;

  __device__ float4 operator()(int64_t i) const { return from[i]; }
};

struct Scaled {
  const float4* from;
  float factor;

  __device__ float4 operator()(int64_t i) const {
    const float4 x = from[i];
    return {x.x * factor, x.y * factor, x.z * factor, x.w * factor};
  }
};

struct Added {
  const float4* from;
  const float4* more;

  __device__ float4 operator()(int64_t i) const {
    const float4 x = from[i];
    const float4 y = more[i];
    return {x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w};
  }
};

/// Loads the values of this thread at once, so that enough loads are under way to keep the memory
/// busy.
template <typename Value>
__device__ int64_t load(const Value& value, float4 (&values)[kLoads]) {
  const int64_t first = int64_t{blockIdx.x} * kLoads * kThreads + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) values[i] = value(first + i * kThreads);
  return first;
}

template <typename Value>
__global__ void write_values(float4* to, Value value) {
  float4 values[kLoads];
  const int64_t first = load(value, values);
#pragma unroll
  for (int i = 0; i < kLoads; ++i) to[first + i * kThreads] = values[i];
}

__global__ void read_values(Copied value) {
  float4 values[kLoads];
  load(value, values);
  float sum = 0;
#pragma unroll
  for (const float4& x : values) sum += x.x + x.y + x.z + x.w;
  if (sum == -1) sink = sum;
}

/// Two buffers of equal size: kBuffer bytes or what fits, but at least four times the L2 cache.
struct TwoBuffers {
  size_t bytes = kBuffer;  // a power of two, so that blocks divide it
  cuda::Memory first = nullptr;
  cuda::Memory second = nullptr;

  explicit TwoBuffers(size_t l2_bytes) {
    const size_t least = std::max(4 * l2_bytes, sizeof(float4) * kLoads * kThreads);
    for (; bytes >= least; bytes /= 2) {
      try {
        first = cuda::allocate(bytes);
        second = cuda::allocate(bytes);
        return;
      } catch (const OutOfMemory&) {  // half of it may fit
        first = nullptr;
      }
    }
    throw OutOfMemory("CUDA: the free memory does not hold two buffers beyond the L2 cache");
  }
};

CudaMemorySeconds memory_seconds() {
  release_cached_memory();
  const TwoBuffers buffers(static_cast<size_t>(attribute(cudaDevAttrL2CacheSize)));
  auto* const from = static_cast<float4*>(buffers.first.get());
  auto* const to = static_cast<float4*>(buffers.second.get());
  for (void* buffer : {buffers.first.get(), buffers.second.get()})
    check(cudaMemset(buffer, kSmallNumbers, buffers.bytes));
  const auto blocks = static_cast<unsigned>(buffers.bytes / (sizeof(float4) * kLoads * kThreads));
  const auto seconds_to_write = [&](const auto& value) {
    return best_seconds([&] { write_values<<<blocks, kThreads>>>(to, value); });
  };
  const double driver = best_seconds(
      [&] { check(cudaMemcpyAsync(to, from, buffers.bytes, cudaMemcpyDeviceToDevice)); });
  return {.bytes = static_cast<double>(buffers.bytes),
          .read = best_seconds([&] { read_values<<<blocks, kThreads>>>(Copied{from}); }),
          .copy = std::min(driver, seconds_to_write(Copied{from})),
          .scale = seconds_to_write(Scaled{to, 1}),
          .add = seconds_to_write(Added{to, from})};
}

}  // namespace
}  // namespace fathom::ops

extern "C" const fathom::ops::CudaLibrary* fathom_cuda_library() {
  static constexpr fathom::ops::CudaLibrary kLibrary{
      .device = fathom::ops::device,
      .multiply_add_flops = fathom::ops::multiply_add_flops,
      .memory_seconds = fathom::ops::memory_seconds,
      .response_norm = fathom::ops::response_norm,
      .response_norm_backward = fathom::ops::response_norm_backward,
      .nms = fathom::ops::nms,
      .roi_align = fathom::ops::roi_align,
      .roi_align_backward = fathom::ops::roi_align_backward,
      .lstm_gates = fathom::ops::lstm_gates,
      .lstm_gates_backward = fathom::ops::lstm_gates_backward,
      .selective_scan = fathom::ops::selective_scan,
      .selective_scan_backward = fathom::ops::selective_scan_backward,
      .fused_clip = fathom::ops::fused_clip,
      .fused_update = fathom::ops::fused_update,
      .capture_graphs = fathom::ops::capture_graphs,
      .make_vendor_kernel = fathom::ops::make_vendor_kernel};
  return &kLibrary;
}
