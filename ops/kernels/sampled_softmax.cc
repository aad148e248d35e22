#include "ops/kernels/sampled_softmax.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace fathom::ops {
namespace {

/// The logarithm of the expected count of each class of `ids`: 1 - (1 - p)^tries, the probability
/// that at least one of `tries` draws gives it.
at::Tensor log_expected_count(const at::Tensor& ids, const at::Tensor& tries, int64_t classes,
                              at::ScalarType type) {
  const double scale = 1 / std::log1p(static_cast<double>(classes));
  const at::Tensor probability = ids.to(type).add_(1).reciprocal_().log1p_().mul_(scale);
  return probability.neg_().log1p_().mul_(tries).expm1_().neg_().log_();
}

}  // namespace

Candidates draw_log_uniform(int64_t positions, int64_t count, int64_t classes,
                            const std::optional<at::Generator>& generator) {
  if (count > classes) {
    throw std::invalid_argument("cannot draw " + std::to_string(count) +
                                " different candidates of " + std::to_string(classes) + " classes");
  }
  RECORD_USER_SCOPE_WITH_INPUTS("op:log_uniform",
                                (std::vector<c10::IValue>{positions, count, classes}));
  Candidates candidates{.ids = at::empty({positions, count}, at::kLong),
                        .tries = at::empty({positions, 1}, at::kFloat)};
  auto* ids = candidates.ids.mutable_data_ptr<int64_t>();
  auto* tries = candidates.tries.mutable_data_ptr<float>();
  const double range = std::log1p(static_cast<double>(classes));
  // The last position that drew each class.
  std::vector<int64_t> drawn_at(static_cast<std::size_t>(classes), -1);
  at::Generator source = generator.value_or(at::detail::getDefaultCPUGenerator());
  const std::lock_guard lock(source.mutex());
  auto* bits = at::check_generator<at::CPUGeneratorImpl>(source);
  for (int64_t position = 0; position < positions; ++position) {
    int64_t tried = 0;
    for (int64_t found = 0; found < count; ++tried) {
      const double uniform = static_cast<double>(bits->random64() >> 11) * 0x1p-53;
      const auto id = std::min(static_cast<int64_t>(std::expm1(uniform * range)), classes - 1);
      auto& last = drawn_at[static_cast<std::size_t>(id)];
      if (last == position) continue;
      last = position;
      *ids++ = id;
      ++found;
    }
    *tries++ = static_cast<float>(tried);
  }
  return candidates;
}

at::Tensor sampled_softmax(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const at::Tensor& labels, const Candidates& candidates) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:sampled_softmax",
                                (std::vector<c10::IValue>{x, weight, candidates.ids}));
  const at::ScalarType type = at::toOpMathType(x.scalar_type());
  const at::Tensor ids = candidates.ids.to(x.device());
  const at::Tensor tries = candidates.tries.to(x.device());
  // One look-up for both kinds of rows, because its gradient fills a tensor as large as `weight`.
  const at::Tensor classes = at::cat({labels, ids}, 1);  // [T, N + S]
  const std::vector<int64_t> parts{labels.size(1), ids.size(1)};
  const auto rows = at::embedding(weight, classes).split_with_sizes(parts, 1);
  const at::Tensor offset = bias.index_select(0, classes.flatten()).view_as(classes) -
                            log_expected_count(classes, tries, weight.size(0), type);
  const auto offsets = offset.split_with_sizes(parts, 1);

  const at::Tensor own = (x * rows[0]).sum(-1).to(type) + offsets[0];  // [T, N]
  const at::Tensor hit = labels.unsqueeze(2) == ids.unsqueeze(1);
  const at::Tensor others =  // [T, N, S]
      (at::bmm(x, rows[1].transpose(1, 2)).to(type) + offsets[1].unsqueeze(1))
          .masked_fill(hit, -std::numeric_limits<double>::infinity());
  return at::cat({own.unsqueeze(2), others}, 2).logsumexp(2) - own;
}

}  // namespace fathom::ops
