#include "models/network/network_workload.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randperm.h>

#include <algorithm>
#include <stdexcept>

#include "fixtures/random.h"

namespace fathom::models {
namespace {

/// The same input with `batch` samples: its own one after another, again from the first.
at::Tensor resized(const at::Tensor& input, int64_t batch) {
  return input.index_select(0, at::arange(batch).remainder(input.size(0)));
}

/// Other data of the same kind: other integers of the same range, the other samples elsewhere.
at::Tensor other(const at::Tensor& input, at::Generator& generator) {
  if (at::isIntegralType(input.scalar_type(), /*includeBool=*/false)) {
    if (input.numel() == 0) return input;
    const auto least = input.min().item<int64_t>();
    const auto most = input.max().item<int64_t>();
    return at::randint(least, most + 1, input.sizes(), generator, input.scalar_type());
  }
  return input.index_select(0, at::randperm(input.size(0), generator, at::kLong));
}

}  // namespace

fixtures::BatchSet NetworkWorkload::batches(const fixtures::BatchRequest& request) const {
  const std::vector<at::Tensor>& inputs = network_->inputs();
  const int64_t own_batch = batch_of(inputs);
  fixtures::BatchSet set;
  for (int i = 0; i < request.count; ++i) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(
        fixtures::seed_for(request.seed, "batch " + std::to_string(i)));
    fixtures::Batch& batch = set.batches.emplace_back();
    for (const auto& input : inputs) {
      const bool has_samples = input.dim() > 0 && input.size(0) == own_batch;
      at::Tensor own = input.clone();
      if (has_samples && request.batch != own_batch) own = resized(input, request.batch);
      batch.push_back(has_samples && i > 0 ? other(own, generator) : own);
    }
  }
  return set;
}

std::vector<int64_t> NetworkWorkload::output_shape(int64_t /*batch*/) const {
  return output_shape_;
}

at::Tensor NetworkWorkload::infer(const fixtures::Batch& batch) {
  outputs_.clear();  // frees the last ones before the next ones are allocated
  outputs_ = network_->run(batch);
  if (outputs_.empty()) throw std::runtime_error("the network returns no tensor");
  const auto floats = std::find_if(outputs_.begin(), outputs_.end(), [](const at::Tensor& output) {
    return output.is_floating_point();
  });
  const at::Tensor& result = floats == outputs_.end() ? outputs_[0] : *floats;
  output_shape_ = result.sizes().vec();
  return result;
}

at::Tensor NetworkWorkload::loss(const fixtures::Batch& batch) {
  at::Tensor loss = infer(batch);
  outputs_.clear();
  return loss;
}

}  // namespace fathom::models
