#include "ops/kernels/fused_update.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/DeviceGuard.h>

#include "ops/core/buffer.h"
#include "ops/cuda/library.h"
#include "ops/kernels/cuda/fused_update.h"
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

using Lists = std::vector<std::vector<at::Tensor>>;

constexpr int64_t kGrain = 1 << 14;  // minimum elements per thread

template <typename Rule, typename T, typename S>
FATHOM_VECTOR_CLONES void update_range(const typename Rule::template In<T>& rule,
                                       const UpdateLists<S>& lists, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) update_element<Rule, T>(rule, lists, i);
}

template <typename Rule>
void update_on_cpu(const Rule& rule, const Lists& lists, std::size_t tensor) {
  const at::Tensor& p = lists[0][tensor];
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, p.scalar_type(), "fused_update", [&] {
    using T = at::opmath_type<scalar_t>;
    const typename Rule::template In<T> in(rule);
    UpdateLists<scalar_t> elements{};
    for (std::size_t list = 0; list < lists.size(); ++list) {
      elements.data[list] = lists[list][tensor].template mutable_data_ptr<scalar_t>();
    }
    at::parallel_for(0, p.numel(), kGrain, [&](int64_t begin, int64_t end) {
      update_range<Rule, T>(in, elements, begin, end);
    });
  });
}

void update_on_cuda(const UpdateRule& rule, const Lists& lists) {
  const at::Tensor& first = lists[0][0];
  const c10::DeviceGuard guard(first.device());
  FusedUpdate call{
      .rule = rule,
      .element = *element(first.scalar_type()),
      .tensors = {},
      .stream = at::accelerator::getCurrentStream(first.device().index()).native_handle()};
  for (std::size_t tensor = 0; tensor < lists[0].size(); ++tensor) {
    UpdatedTensor updated{.lists = {}, .count = lists[0][tensor].numel()};
    for (std::size_t list = 0; list < lists.size(); ++list) {
      updated.lists.data[list] = lists[list][tensor].mutable_data_ptr();
    }
    call.tensors.push_back(updated);
  }
  const char* error = cuda_library()->fused_update(call);
  TORCH_CHECK(error == nullptr, "update on ", first.device(), ": ", error);
}

void check_lists(const Lists& lists, int states) {
  TORCH_CHECK(std::ssize(lists) == 2 + states, "update: ", lists.size(), " lists, expected ",
              2 + states);
  for (const auto& list : lists) {
    TORCH_CHECK(list.size() == lists[0].size(), "update: lists of ", list.size(), " and ",
                lists[0].size(), " tensors");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const at::Tensor& p = lists[0][i];
      TORCH_CHECK(list[i].is_non_overlapping_and_dense() && list[i].sizes() == p.sizes() &&
                      list[i].strides() == p.strides() &&
                      list[i].scalar_type() == lists[0][0].scalar_type() &&
                      list[i].device() == lists[0][0].device() && element(p.scalar_type()),
                  "update: the tensors of parameter ", i,
                  " must be dense and have the same sizes, strides, type and device");
    }
  }
}

}  // namespace

void fused_update(const UpdateRule& rule, const Lists& lists) {
  const auto& [scope, states] =
      std::visit([](const auto& one) { return std::pair(one.kScope, one.kStates); }, rule);
  RECORD_USER_SCOPE_WITH_INPUTS(scope, std::vector<c10::IValue>{lists.at(0)});
  check_lists(lists, states);
  if (lists[0].empty()) return;
  const at::Device device = lists[0][0].device();
  if (device.is_cpu()) {
    for (std::size_t tensor = 0; tensor < lists[0].size(); ++tensor) {
      std::visit([&](const auto& one) { update_on_cpu(one, lists, tensor); }, rule);
    }
    return;
  }
  TORCH_CHECK(device.is_cuda() && cuda_library() != nullptr, "update: no kernel on ", device);
  update_on_cuda(rule, lists);
}

}  // namespace fathom::ops
