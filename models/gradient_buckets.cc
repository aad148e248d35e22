#include "models/gradient_buckets.h"

#include <torch/nn/module.h>

#include <algorithm>
#include <set>
#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace fathom::models {
namespace {

/// The elements of the buckets of one round.
std::vector<int64_t> bucket_elements(const std::vector<at::Tensor>& ready) {
  const auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(
      ready, {c10d::kDefaultFirstBucketBytes, kBucketBytes}));
  std::vector<int64_t> elements;
  for (const auto& bucket : buckets) {
    int64_t& sum = elements.emplace_back(0);
    for (const std::size_t parameter : bucket) sum += ready[parameter].numel();
  }
  return elements;
}

}  // namespace

std::vector<int64_t> gradient_buckets(Step& step) {
  std::vector<at::Tensor> ready;  // in this round
  std::vector<std::pair<at::Tensor, unsigned>> hooks;
  for (const auto& parameter : step.workload().module().parameters()) {
    if (!parameter.requires_grad()) continue;
    hooks.emplace_back(parameter,
                       parameter.register_hook([&, parameter](const at::Tensor& gradient) {
                         if (!gradient.is_sparse()) ready.push_back(parameter);
                       }));
  }
  std::set<std::set<const void*>> known;
  std::vector<int64_t> elements;
  step.run([&](Phase phase) {
    if (phase != Phase::kBackward) return;
    std::set<const void*> parameters;
    for (const auto& parameter : ready) parameters.insert(parameter.unsafeGetTensorImpl());
    if (known.insert(parameters).second) {
      const auto more = bucket_elements(ready);
      elements.insert(elements.end(), more.begin(), more.end());
    }
    ready.clear();
  });
  for (const auto& [parameter, hook] : hooks) parameter.remove_hook(hook);
  return elements;
}

}  // namespace fathom::models
