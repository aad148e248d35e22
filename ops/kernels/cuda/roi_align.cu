#include "ops/kernels/cuda/launch.h"
#include "ops/kernels/cuda/roi_align.h"

namespace fathom::ops {
namespace {

template <typename S, typename T>
__global__ void forward(RoiAlignShape shape, const S* __restrict__ features,
                        const T* __restrict__ regions, S* __restrict__ y) {
  for (int64_t i = first_index(); i < bin_count(shape); i += index_stride())
    align_bin(shape, features, regions, i, y);
}

template <typename S, typename T>
__global__ void backward(RoiAlignShape shape, const S* __restrict__ g,
                         const T* __restrict__ regions, T* dx) {
  for (int64_t i = first_index(); i < bin_count(shape); i += index_stride()) {
    align_bin_backward(shape, g, regions, i, [&](int64_t pixel, T summand) {
      if (summand != 0) atomicAdd(dx + pixel, summand);
    });
  }
}

}  // namespace

const char* roi_align(const RoiAlignCall& call, const void* features, const void* regions,
                      void* y) {
  if (bin_count(call.shape) == 0) return nullptr;
  return launch(call.element, [&](auto element, auto number) {
    using S = decltype(element);
    forward<<<blocks_over(bin_count(call.shape)), kThreads, 0,
              static_cast<cudaStream_t>(call.stream)>>>(
        call.shape, static_cast<const S*>(features), static_cast<const decltype(number)*>(regions),
        static_cast<S*>(y));
  });
}

const char* roi_align_backward(const RoiAlignCall& call, const void* g, const void* regions,
                               void* dx) {
  if (bin_count(call.shape) == 0) return nullptr;
  return launch(call.element, [&](auto element, auto number) {
    using T = decltype(number);
    backward<<<blocks_over(bin_count(call.shape)), kThreads, 0,
               static_cast<cudaStream_t>(call.stream)>>>(
        call.shape, static_cast<const decltype(element)*>(g), static_cast<const T*>(regions),
        static_cast<T*>(dx));
  });
}

}  // namespace fathom::ops
