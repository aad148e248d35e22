#include <cuda_runtime.h>

#include <algorithm>

#include "ops/cuda/rmsprop.h"

namespace fathom::ops {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 4096;  // more elements a thread, fewer blocks to start

template <typename T>
__global__ void update(int64_t count, RmsPropRule<T> rule, const T* __restrict__ g,
                       T* __restrict__ mean_square, T* __restrict__ p) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    rule.apply(g[i], mean_square[i], p[i]);
  }
}

template <typename T>
void launch(const RmsPropUpdate& call, void* p, const void* g, void* mean_square) {
  const auto blocks =
      static_cast<unsigned>(std::min((call.count + kThreads - 1) / kThreads, kMostBlocks));
  update<T><<<blocks, kThreads, 0, static_cast<cudaStream_t>(call.stream)>>>(
      call.count, RmsPropRule<T>(call.options), static_cast<const T*>(g),
      static_cast<T*>(mean_square), static_cast<T*>(p));
}

}  // namespace

const char* rmsprop_update(const RmsPropUpdate& call, void* p, const void* g, void* mean_square) {
  if (call.count == 0) return nullptr;
  switch (call.element) {
    case Element::kFp32:
      launch<float>(call, p, g, mean_square);
      break;
    case Element::kFp64:
      launch<double>(call, p, g, mean_square);
      break;
    case Element::kBf16:
      return cudaGetErrorString(cudaErrorInvalidValue);
  }
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace fathom::ops
