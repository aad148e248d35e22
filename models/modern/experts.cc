#include "models/modern/experts.h"

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/diff.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "models/modern/parallel_fill.h"
#include "ops/kernels/experts/expert_groups.h"
#include "ops/kernels/experts/grouped_matmul.h"
#include "ops/kernels/fused_composites.h"
#include "ops/kernels/swiglu.h"

namespace fathom::models {
namespace {

/// The pairs of each expert, [experts].
at::Tensor counts(const at::Tensor& offsets) {
  return at::diff(offsets, /*n=*/1, /*dim=*/0, at::zeros({1}, offsets.options()));
}

}  // namespace

ExpertsImpl::ExpertsImpl(const ExpertSizes& sizes)
    : chosen_(sizes.chosen),
      router_(register_module("router",
                              Matrix(drawn_normal({sizes.count, sizes.width}, sizes.deviation)))),
      gate_up_(register_parameter(
          "gate_up", drawn_normal({sizes.count, 2 * sizes.inner, sizes.width}, sizes.deviation))),
      down_(register_parameter(
          "down", drawn_normal({sizes.count, sizes.width, sizes.inner}, sizes.deviation))) {}

at::Tensor ExpertsImpl::forward(const at::Tensor& x) {
  const bool fused = ops::fused_composites();
  const auto grouped = fused ? ops::fused_expert_groups : ops::expert_groups;
  const auto multiply = fused ? ops::fused_grouped_matmul : ops::grouped_matmul;
  const auto swiglu = fused ? ops::fused_swiglu : ops::swiglu;
  const at::Tensor tokens = x.flatten(0, 1);
  scores_ = router_(tokens);
  const auto [best, chosen] = at::topk(scores_, chosen_);
  const ops::ExpertGroups groups = grouped(chosen, gate_up_.size(0));
  offsets_ = groups.offsets;
  const at::Tensor shares = at::softmax(best, -1).flatten().index_select(0, groups.order);
  const at::Tensor token = groups.order.div(chosen_, "floor");
  const auto gate_up = multiply(tokens.index_select(0, token), gate_up_, groups).chunk(2, -1);
  const at::Tensor found = multiply(swiglu(gate_up[0], gate_up[1]), down_, groups);
  const at::Tensor weighted = found * shares.unsqueeze(1).to(found.scalar_type());
  return at::zeros_like(tokens, weighted.options()).index_add_(0, token, weighted).view_as(x);
}

std::vector<at::Tensor> ExpertsImpl::read() const {
  const auto used = counts(offsets_).count_nonzero().item<int64_t>();
  return {router_->weight, gate_up_.narrow(0, 0, used), down_.narrow(0, 0, used)};
}

at::Tensor load_balancing_loss(const std::vector<Routed>& layers) {
  std::vector<at::Tensor> scores;
  std::vector<at::Tensor> pairs;
  for (const Routed& layer : layers) {
    scores.push_back(layer.scores);
    pairs.push_back(counts(layer.offsets));
  }
  const at::Tensor all = at::cat(scores);
  const at::ScalarType computed = at::toOpMathType(all.scalar_type());
  const at::Tensor chosen = at::stack(pairs).sum(0).to(computed);
  const at::Tensor mean = at::softmax(all, -1, computed).mean(0);
  return (chosen / chosen.sum() * mean).sum() * chosen.size(0);
}

}  // namespace fathom::models
