#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace fathom::ops {

/// The pairs of a token and an expert that it chose, in the order of the experts: what a router
/// gives a mixture of experts. Pair p of the tokens' order is the choice p % top_k of token
/// p / top_k.
struct ExpertGroups {
  at::Tensor order;    ///< [T · top_k], int64: the pair at each place
  at::Tensor offsets;  ///< [E], int32: where the pairs of each expert end
  int64_t top_k;
};

/// Groups `chosen` [T, top_k], int64, by expert. In LibTorch: a stable sort and a search.
ExpertGroups expert_groups(const at::Tensor& chosen, int64_t experts);

/// The same on the CPU by counting. Elsewhere, expert_groups().
ExpertGroups fused_expert_groups(const at::Tensor& chosen, int64_t experts);

}  // namespace fathom::ops
