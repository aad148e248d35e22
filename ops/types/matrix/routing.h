#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ops/core/fields.h"

namespace fathom::ops {

/// Which experts the tokens of a mixture of experts choose. Where the sizes of groups matter, two
/// steps differ; a row has those of one draw, which is the same everywhere.
struct Routing {
  int64_t tokens;
  int64_t experts;
  int64_t top_k;
  std::string distribution = "uniform";

  /// As those of a router with random weights, or expert e with a share near 1 / (e + 1).
  static constexpr std::array<std::string_view, 2> kDistributions{"uniform", "zipf"};

  void visit(Fields& fields) {
    fields.extent("tokens", tokens);
    fields.extent("experts", experts);
    fields.extent("top_k", top_k);
    fields.choice("routing", distribution, kDistributions);
    fields.require(top_k <= experts, "\"top_k\" is larger than \"experts\"");
  }

  int64_t pairs() const { return tokens * top_k; }
};

/// The experts of each token, [tokens, top_k], int64; all different.
at::Tensor chosen_experts(const Routing& routing);

/// The number of experts that some token chose.
int64_t chosen_count(const at::Tensor& chosen);

}  // namespace fathom::ops
