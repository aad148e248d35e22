#include "ops/kernels/cuda/launch.h"
#include "ops/kernels/cuda/local_response_norm.h"
#include "ops/kernels/cuda/response_window.h"

namespace fathom::ops {
namespace {

template <int kSize, typename T, typename Sum>
__global__ void forward(Planes shape, NormConstants<Sum> norm, const T* __restrict__ x,
                        T* __restrict__ y) {
  for (int64_t i = first_index(); i < part_count(shape); i += index_stride()) {
    normalise<kSize>(shape, part_at(shape, i), norm, x, y);
  }
}

template <int kSize, typename T, typename Sum>
__global__ void backward(Planes shape, NormConstants<Sum> norm, const T* __restrict__ x,
                         const T* __restrict__ g, T* __restrict__ dx) {
  for (int64_t i = first_index(); i < part_count(shape); i += index_stride()) {
    normalise_backward<kSize>(shape, part_at(shape, i), norm, x, g, dx);
  }
}

/// Calls visit(value of the element type, window size as a type, constants, blocks) unless the
/// tensor is empty. Returns null, or CUDA's error text.
template <typename Visit>
const char* with_types(const ResponseNorm& call, Visit visit) {
  if (!has_window(call.norm.size)) return cudaGetErrorString(cudaErrorInvalidValue);
  const int64_t parts = part_count(call.shape);
  if (parts == 0) return nullptr;
  const unsigned blocks = blocks_over(parts);
  return launch(call.element, [&](auto element, auto number) {
    with_window(call.norm.size, [&](auto size) {
      visit(element, size, NormConstants<decltype(number)>(call.norm), blocks);
    });
  });
}

}  // namespace

const char* response_norm(const ResponseNorm& call, const void* x, void* y) {
  return with_types(call, [&](auto element, auto size, auto norm, unsigned blocks) {
    using T = decltype(element);
    forward<decltype(size)::value><<<blocks, kThreads, 0, static_cast<cudaStream_t>(call.stream)>>>(
        call.shape, norm, static_cast<const T*>(x), static_cast<T*>(y));
  });
}

const char* response_norm_backward(const ResponseNorm& call, const void* x, const void* g,
                                   void* dx) {
  return with_types(call, [&](auto element, auto size, auto norm, unsigned blocks) {
    using T = decltype(element);
    backward<decltype(size)::value>
        <<<blocks, kThreads, 0, static_cast<cudaStream_t>(call.stream)>>>(
            call.shape, norm, static_cast<const T*>(x), static_cast<const T*>(g),
            static_cast<T*>(dx));
  });
}

}  // namespace fathom::ops
