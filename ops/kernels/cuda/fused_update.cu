#include "ops/kernels/cuda/fused_update.h"
#include "ops/kernels/cuda/tensor_groups.h"

namespace fathom::ops {
namespace {

template <typename Rule, typename T, typename S>
__global__ void update(TensorGroup<S> group, typename Rule::template In<T> rule) {
  each_element(group, [&](const UpdateLists<S>& lists, int64_t i) {
    update_element<Rule, T>(rule, lists, i);
  });
}

template <typename Rule, typename T, typename S>
void update_all(const Rule& rule, const FusedUpdate& call) {
  const typename Rule::template In<T> in(rule);
  each_group<S>(call.tensors, [&](const TensorGroup<S>& group, unsigned blocks) {
    update<Rule, T><<<blocks, kThreads, 0, static_cast<cudaStream_t>(call.stream)>>>(group, in);
  });
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
