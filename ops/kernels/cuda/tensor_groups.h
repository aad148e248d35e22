#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/kernels/cuda/fused_update.h"
#include "ops/kernels/cuda/launch.h"

namespace fathom::ops {

constexpr int64_t kBlockElements = 16 * kThreads;  // elements per block
constexpr int kMaxTensors = 64;                    // per launch: its arguments must fit into 4 KB

/// The tensors of one launch. Each tensor has its own blocks, one after the other.
template <typename S>
struct TensorGroup {
  UpdateLists<S> lists[kMaxTensors];
  int64_t counts[kMaxTensors];
  int64_t ends[kMaxTensors];  ///< first block after those of a tensor
  int tensors;
};

/// Calls visit(lists of the tensor, index of the element) for each element of this thread.
template <typename S, typename Visit>
__device__ void each_element(const TensorGroup<S>& group, const Visit& visit) {
  int tensor = 0;
  while (group.ends[tensor] <= blockIdx.x) ++tensor;
  const int64_t first = tensor == 0 ? 0 : group.ends[tensor - 1];
  const int64_t begin = (blockIdx.x - first) * kBlockElements;
  const int64_t end = min(begin + kBlockElements, group.counts[tensor]);
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) visit(group.lists[tensor], i);
}

/// Calls start(group, number of blocks) for as many tensors at a time as fit into one launch.
template <typename S, typename Start>
void each_group(const std::vector<UpdatedTensor>& tensors, const Start& start) {
  TensorGroup<S> group{};
  int64_t blocks = 0;
  const auto flush = [&] {
    if (blocks > 0) start(group, static_cast<unsigned>(blocks));
    group.tensors = 0;
    blocks = 0;
  };
  for (const auto& tensor : tensors) {
    const int64_t own = (tensor.count + kBlockElements - 1) / kBlockElements;
    if (own == 0) continue;
    if (group.tensors == kMaxTensors || blocks + own > kMaxBlocks) flush();
    const int place = group.tensors++;
    for (int list = 0; list < UpdateLists<S>::kMaxLists; ++list) {
      group.lists[place].data[list] = static_cast<S*>(tensor.lists.data[list]);
    }
    group.counts[place] = tensor.count;
    group.ends[place] = blocks += own;
  }
  flush();
}

}  // namespace fathom::ops
