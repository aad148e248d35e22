#include <cub/block/block_reduce.cuh>

#include "ops/kernels/cuda/fused_clip.h"
#include "ops/kernels/cuda/tensor_groups.h"

namespace fathom::ops {
namespace {

template <typename T, typename S>
__global__ void add_squares(TensorGroup<S> group, double* squares) {
  using Reduce = cub::BlockReduce<double, kThreads>;
  __shared__ typename Reduce::TempStorage shared;
  T own = 0;
  each_element(group, [&](const UpdateLists<S>& lists, int64_t i) {
    const T g = static_cast<T>(lists.data[0][i]);
    own += g * g;
  });
  const double all = Reduce(shared).Sum(static_cast<double>(own));
  if (threadIdx.x == 0) atomicAdd(squares, all);
}

template <typename T, typename S>
__global__ void scale(TensorGroup<S> group, const double* squares, double max_norm) {
  const T factor = static_cast<T>(clip_factor(*squares, max_norm));
  each_element(group, [&](const UpdateLists<S>& lists, int64_t i) {
    lists.data[0][i] = static_cast<S>(static_cast<T>(lists.data[0][i]) * factor);
  });
}

}  // namespace

const char* fused_clip(const FusedClip& call) {
  const auto stream = static_cast<cudaStream_t>(call.stream);
  return launch(call.element, [&](auto element, auto number) {
    using S = decltype(element);
    using T = decltype(number);
    each_group<S>(call.gradients, [&](const TensorGroup<S>& group, unsigned blocks) {
      add_squares<T><<<blocks, kThreads, 0, stream>>>(group, call.squares);
    });
    each_group<S>(call.gradients, [&](const TensorGroup<S>& group, unsigned blocks) {
      scale<T><<<blocks, kThreads, 0, stream>>>(group, call.squares, call.max_norm);
    });
  });
}

}  // namespace fathom::ops
