#include <cstdint>
#include <stdexcept>
#include <string>

#include "ops/backends/cuda/device_memory.h"
#include "ops/backends/cuda/strided_copy.h"
#include "ops/kernels/cuda/launch.h"

namespace fathom::ops::cuda {
namespace {

constexpr int kAxes = 4;

struct Strides {
  int64_t sizes[kAxes];
  int64_t to[kAxes];
  int64_t from[kAxes];
};

template <typename T>
__global__ void copy(Strides strides, int64_t count, T* to, const T* from) {
  for (int64_t i = first_index(); i < count; i += index_stride()) {
    int64_t rest = i;
    int64_t to_offset = 0;
    int64_t from_offset = 0;
#pragma unroll
    for (int axis = kAxes - 1; axis >= 0; --axis) {
      const int64_t index = rest % strides.sizes[axis];
      rest /= strides.sizes[axis];
      to_offset += index * strides.to[axis];
      from_offset += index * strides.from[axis];
    }
    to[to_offset] = from[from_offset];
  }
}

}  // namespace

void copy_strided(const Buffer& to, const Buffer& from, cudaStream_t stream) {
  Strides strides{};
  int64_t count = 1;
  for (int axis = 0; axis < kAxes; ++axis) {
    strides.sizes[axis] = to.sizes.at(axis);
    strides.to[axis] = to.strides.at(axis);
    strides.from[axis] = from.strides.at(axis);
    count *= to.sizes[axis];
  }
  if (count == 0) return;
  const char* const error = launch(to.element, [&](auto element, auto /*number*/) {
    using T = decltype(element);
    copy<<<blocks_over(count), kThreads, 0, stream>>>(strides, count, static_cast<T*>(to.data),
                                                      static_cast<const T*>(from.data));
  });
  if (error != nullptr) throw std::runtime_error(std::string("CUDA: ") + error);
}

}  // namespace fathom::ops::cuda
