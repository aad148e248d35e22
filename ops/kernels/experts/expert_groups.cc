#include "ops/kernels/experts/expert_groups.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/sort.h>
#include <ATen/record_function.h>

#include <vector>

namespace fathom::ops {
namespace {

std::vector<c10::IValue> chosen_from(const at::Tensor& chosen, int64_t experts) {
  return {chosen, experts};
}

}  // namespace

ExpertGroups expert_groups(const at::Tensor& chosen, int64_t experts) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:expert_counts", chosen_from(chosen, experts));
  const auto [sorted, order] =
      at::sort(chosen.flatten(), /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const at::Tensor all = at::arange(experts, chosen.options());
  return {.order = order,
          .offsets = at::searchsorted(sorted, all, /*out_int32=*/true, /*right=*/true),
          .top_k = chosen.size(1)};
}

ExpertGroups fused_expert_groups(const at::Tensor& chosen, int64_t experts) {
  if (!chosen.is_cpu()) return expert_groups(chosen, experts);
  RECORD_USER_SCOPE_WITH_INPUTS("op:expert_counts", chosen_from(chosen, experts));
  const at::Tensor rows = chosen.contiguous();
  const int64_t pairs = rows.numel();
  ExpertGroups groups{.order = at::empty({pairs}, chosen.options()),
                      .offsets = at::empty({experts}, chosen.options().dtype(at::kInt)),
                      .top_k = chosen.size(1)};
  const auto* expert = rows.const_data_ptr<int64_t>();
  auto* order = groups.order.mutable_data_ptr<int64_t>();
  auto* offsets = groups.offsets.mutable_data_ptr<int32_t>();
  std::vector<int32_t> next(static_cast<std::size_t>(experts) + 1);
  for (int64_t pair = 0; pair < pairs; ++pair)
    ++next.at(static_cast<std::size_t>(expert[pair]) + 1);
  for (int64_t e = 0; e < experts; ++e) {
    const auto place = static_cast<std::size_t>(e);
    next[place + 1] += next[place];
    offsets[e] = next[place + 1];
  }
  for (int64_t pair = 0; pair < pairs; ++pair) {
    order[next[static_cast<std::size_t>(expert[pair])]++] = pair;
  }
  return groups;
}

}  // namespace fathom::ops
