#include "ops/cuda/fused_update.h"
#include "ops/cuda/launch.h"

namespace fathom::ops {
namespace {

constexpr int64_t kBlockElements = 16 * kThreads;  // a block's share of a tensor
constexpr int kMostTensors = 64;                   // of a launch, whose arguments fit into 4 KB

/// What one launch updates: each tensor has blocks of its own, one after the other.
template <typename S>
struct Group {
  UpdateLists<S> lists[kMostTensors];
  int64_t counts[kMostTensors];
  int64_t ends[kMostTensors];  ///< the first block after a tensor's
  int tensors;
};

template <typename Rule, typename T, typename S>
__global__ void update(Group<S> group, typename Rule::template In<T> rule) {
  int tensor = 0;
  while (group.ends[tensor] <= blockIdx.x) ++tensor;
  const int64_t first = tensor == 0 ? 0 : group.ends[tensor - 1];
  const int64_t begin = (blockIdx.x - first) * kBlockElements;
  const int64_t end = min(begin + kBlockElements, group.counts[tensor]);
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    update_element<Rule, T>(rule, group.lists[tensor], i);
  }
}

template <typename Rule, typename T, typename S>
void update_all(const Rule& rule, const FusedUpdate& call) {
  const auto stream = static_cast<cudaStream_t>(call.stream);
  const typename Rule::template In<T> in(rule);
  Group<S> group{};
  int64_t blocks = 0;
  const auto start = [&] {
    if (blocks > 0)
      update<Rule, T><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(group, in);
    group.tensors = 0;
    blocks = 0;
  };
  for (const auto& tensor : call.tensors) {
    const int64_t own = (tensor.count + kBlockElements - 1) / kBlockElements;
    if (own == 0) continue;
    if (group.tensors == kMostTensors || blocks + own > kMostBlocks) start();
    const int place = group.tensors++;
    for (int list = 0; list < UpdateLists<S>::kMost; ++list) {
      group.lists[place].at[list] = static_cast<S*>(tensor.lists.at[list]);
    }
    group.counts[place] = tensor.count;
    group.ends[place] = blocks += own;
  }
  start();
}

}  // namespace

const char* fused_update(const FusedUpdate& call) {
  return launch(call.element, [&](auto element, auto number) {
    std::visit(
        [&](const auto& rule) {
          update_all<std::decay_t<decltype(rule)>, decltype(number), decltype(element)>(rule, call);
        },
        call.rule);
  });
}

}  // namespace fathom::ops
