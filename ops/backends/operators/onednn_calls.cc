#include "ops/backends/operators/onednn_calls.h"

#include <ATen/ops/empty.h>

#include "ops/backends/onednn/library.h"

namespace fathom::ops::onednn {
namespace {

/// The kernels of a call, by part; null where oneDNN has none.
struct PreparedParts final : Kept {
  std::map<int64_t, std::unique_ptr<Prepared>> parts;
};

}  // namespace

bool is_readable(const at::Tensor& tensor) {
  const auto type = element(tensor.scalar_type());
  return type && has(*type) && tensor.layout() == at::kStrided && tensor.numel() > 0 &&
         tensor.is_non_overlapping_and_dense();
}

at::Tensor image_like(const at::Tensor& other, c10::IntArrayRef sizes) {
  return at::empty(sizes, other.options(), other.suggest_memory_format());
}

Prepared* Call::kernel(const Problem& problem) {
  if (kept_ == nullptr) kept_ = std::make_unique<PreparedParts>();
  const auto [place, added] = static_cast<PreparedParts&>(*kept_).parts.try_emplace(part_);
  if (added) {
    try {
      place->second = std::make_unique<Prepared>(onednn::kernel(problem), *this);
    } catch (const NotSupported&) {
      place->second = nullptr;
    }
  }
  return place->second.get();
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

std::optional<Results> run(Call& call, const Problem& problem, Results results) {
  Prepared* kernel = call.kernel(problem);
  if (kernel == nullptr) return {};
  kernel->run(call);
  return results;
}

}  // namespace fathom::ops::onednn
