#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "ops/core/element.h"

namespace fathom::ops {

constexpr int kThreads = 256;  // per block
constexpr int64_t kMaxBlocks = (int64_t{1} << 31) - 1;

/// Grid size for a grid-stride loop over `count` > 0 elements: first_index(), index_stride().
inline unsigned blocks_over(int64_t count) {
  return static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMaxBlocks));
}

__device__ inline int64_t first_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline int64_t index_stride() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

/// Calls visit(value of the element type, value of the type to compute in), which launches kernels.
/// Returns null, or CUDA's error text where a launch fails.
template <typename Visit>
const char* launch(Element element, const Visit& visit) {
  switch (element) {
    case Element::kFp32:
      visit(float{}, float{});
      break;
    case Element::kFp64:
      visit(double{}, double{});
      break;
    case Element::kBf16:
      visit(__nv_bfloat16{}, float{});
      break;
    case Element::kFp16:
      visit(__half{}, float{});
      break;
    default:  // codes, of which no kernel here computes
      break;
  }
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace fathom::ops
