#include "ops/backends/operators/onednn_calls.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "ops/backends/onednn/library.h"

namespace fathom::ops::onednn {

bool is_readable(const at::Tensor& tensor) {
  const bool known =
      tensor.scalar_type() == at::kFloat || (tensor.scalar_type() == at::kBFloat16 && has_bf16());
  return known && tensor.layout() == at::kStrided && tensor.numel() > 0 &&
         tensor.is_non_overlapping_and_dense();
}

at::Tensor image_like(const at::Tensor& other, c10::IntArrayRef sizes) {
  return at::empty(sizes, other.options(), other.suggest_memory_format());
}

Prepared* Prepared::of(const Call& call, const Problem& problem) {
  const auto [place, added] = all().try_emplace(call.key());
  Prepared& one = place->second;
  if (added) {
    try {
      one.kernel_ = onednn::kernel(problem);
      one.memory_ = call.memory();
    } catch (const NotSupported&) {
      one.kernel_ = nullptr;
    }
  }
  return one.kernel_ == nullptr ? nullptr : &one;
}

void Prepared::forget(const CallKey& key) {
  const auto is_part = [&](const CallKey& other) {
    return other.size() == key.size() + 1 && std::equal(key.begin(), key.end(), other.begin());
  };
  auto place = all().lower_bound(key);
  while (place != all().end() && is_part(place->first)) place = all().erase(place);
}

void Prepared::run(const Call& call,
                   const std::vector<std::pair<Kernel::Part, at::Tensor>>& parts) {
  std::vector<void*> from = memory_;
  std::vector<void*> to = call.memory();
  for (const auto& [part, tensor] : parts) {
    auto [place, added] = parts_.try_emplace(part);
    if (added) place->second = kernel_->place(part).data;
    from.push_back(place->second);
    to.push_back(tensor.mutable_data_ptr());
  }
  kernel_->run_over(from, to);
}

std::map<CallKey, Prepared>& Prepared::all() {
  static std::map<CallKey, Prepared> kernels;
  return kernels;
}

bool run(const Call& call, const Problem& problem) {
  Prepared* kernel = Prepared::of(call, problem);
  if (kernel != nullptr) kernel->run(call);
  return kernel != nullptr;
}

}  // namespace fathom::ops::onednn
