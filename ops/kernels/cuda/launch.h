#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "ops/core/element.h"

namespace fathom::ops {

constexpr int kThreads = 256;  // a block's
constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;

/// Enough for a thread to each of `count` > 0, as far as a launch can have them: a thread goes on
/// from first_index() by index_stride().
inline unsigned blocks_over(int64_t count) {
  return static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks));
}

__device__ inline int64_t first_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline int64_t index_stride() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

/// Calls visit(an element, a number of the type to compute it in), which launches kernels. Null, or
/// CUDA's words where they do not start.
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
  }
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace fathom::ops
