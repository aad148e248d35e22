#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/kernels/cuda/fused_update.h"
#include "ops/kernels/cuda/launch.h"

namespace fathom::ops {

constexpr int64_t kBlockElements = 16 * kThreads;  // a block's share of a tensor
constexpr int kMostTensors = 64;                   // of a launch, whose arguments fit into 4 KB

/// What one launch is over: each tensor has blocks of its own, one after the other.
template <typename S>
struct TensorGroup {
  UpdateLists<S> lists[kMostTensors];
  int64_t counts[kMostTensors];
  int64_t ends[kMostTensors];  ///< the first block after a tensor's
  int tensors;
};

/// Calls visit(a tensor's lists, an element's index) for the thread's elements.
template <typename S, typename Visit>
__device__ void each_element(const TensorGroup<S>& group, const Visit& visit) {
  int tensor = 0;
  while (group.ends[tensor] <= blockIdx.x) ++tensor;
  const int64_t first = tensor == 0 ? 0 : group.ends[tensor - 1];
  const int64_t begin = (blockIdx.x - first) * kBlockElements;
  const int64_t end = min(begin + kBlockElements, group.counts[tensor]);
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) visit(group.lists[tensor], i);
}

/// Calls start(group, how many blocks it has) for as many tensors at a time as a launch takes.
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
    if (group.tensors == kMostTensors || blocks + own > kMostBlocks) flush();
    const int place = group.tensors++;
    for (int list = 0; list < UpdateLists<S>::kMost; ++list) {
      group.lists[place].at[list] = static_cast<S*>(tensor.lists.at[list]);
    }
    group.counts[place] = tensor.count;
    group.ends[place] = blocks += own;
  }
  flush();
}

}  // namespace fathom::ops
