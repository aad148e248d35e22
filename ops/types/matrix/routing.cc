#include "ops/types/matrix/routing.h"

#include <ATen/ops/empty.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

namespace fathom::ops {

at::Tensor chosen_experts(const Routing& routing) {
  std::mt19937_64 generator(1);  // the standard fixes its numbers
  const auto number = [&] { return static_cast<double>(generator() >> 11) * 0x1p-53; };
  const auto experts = static_cast<std::size_t>(routing.experts);
  std::vector<double> shares(experts, 1);
  if (routing.distribution == "zipf") {
    for (std::size_t e = 0; e < experts; ++e) shares[e] = 1 / static_cast<double>(e + 1);
  }
  at::Tensor chosen = at::empty({routing.tokens, routing.top_k}, at::kLong);
  auto* to = chosen.mutable_data_ptr<int64_t>();
  for (int64_t token = 0; token < routing.tokens; ++token) {
    std::vector<double> left = shares;
    double total = 0;
    for (const double share : left) total += share;
    for (int64_t k = 0; k < routing.top_k; ++k) {
      double place = number() * total;
      std::size_t expert = 0;
      std::size_t last = 0;  // that is left, for a place beyond the rounded total
      for (; expert < experts; ++expert) {
        if (left[expert] == 0) continue;
        last = expert;
        if (place < left[expert]) break;
        place -= left[expert];
      }
      to[token * routing.top_k + k] = static_cast<int64_t>(last);
      total -= left[last];
      left[last] = 0;
    }
  }
  return chosen;
}

int64_t chosen_count(const at::Tensor& chosen) {
  const auto* first = chosen.const_data_ptr<int64_t>();
  return std::ssize(std::set<int64_t>(first, first + chosen.numel()));
}

}  // namespace fathom::ops
