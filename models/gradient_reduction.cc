#include "models/gradient_reduction.h"

#include <ATen/ops/empty.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "fixtures/ranks/group_handle.h"

namespace fathom::models {
namespace {

constexpr std::size_t kBroadcastBytes = 250 << 20;  // that of DistributedDataParallel

// Of a gradient that was computed twice: the norm of the difference over the gradient's own norm,
// and over that of all gradients, for a gradient that is zero but for rounding.
constexpr double kTolerance = 1e-3;
constexpr double kToleranceOfAll = 1e-5;

/// A hash of all bits of a tensor.
int64_t hash(const at::Tensor& tensor) {
  const at::Tensor own = tensor.detach().cpu().contiguous();
  const auto* bytes = static_cast<const char*>(own.data_ptr());
  const auto size = static_cast<std::size_t>(own.nbytes());
  uint64_t hash = size;
  for (std::size_t i = 0; i < size; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i, std::min(sizeof word, size - i));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return static_cast<int64_t>(hash);
}

/// Bytes that one rank gives to a reduced gradient. A sparse one holds the rows of all ranks.
double own_bytes(const at::Tensor& gradient, int ranks) {
  if (!gradient.is_sparse()) return static_cast<double>(gradient.nbytes());
  return static_cast<double>(gradient._values().nbytes() + gradient._indices().nbytes()) / ranks;
}

/// Seconds of a field of c10d's Logger, which counts nanoseconds; 0 where it has none.
double seconds(const at::DDPLoggingData& data, const char* field) {
  const auto found = data.ints_map.find(field);
  return found == data.ints_map.end() ? 0
                                      : std::max(0.0, 1e-9 * static_cast<double>(found->second));
}

}  // namespace

GradientReduction::GradientReduction(Workload& workload, const StepRanks& ranks)
    : workload_(workload), ranks_(ranks) {
  for (const auto& named : workload.module().named_parameters()) {
    parameters_.emplace_back(named.key(), named.value());
  }
  copy_from_rank_0();
}

GradientReduction::~GradientReduction() = default;

void GradientReduction::learn(int round) {
  std::vector<std::size_t> with_gradient;
  averages_.assign(parameters_.size(), {});
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& gradient = parameters_[i].second.mutable_grad();
    if (!gradient.defined()) continue;
    with_gradient.push_back(i);
    const at::Tensor dense = gradient.is_sparse() ? gradient.to_dense() : gradient;
    averages_[i] = dense.to(at::kDouble).div_(ranks_.size());
    ranks_.group->all_reduce(averages_[i]);
  }
  if (with_gradient.empty()) throw std::runtime_error("no parameter has a gradient");
  auto part = std::find_if(parts_.begin(), parts_.end(),
                           [&](const Part& known) { return known.parameters == with_gradient; });
  if (part == parts_.end()) part = parts_.insert(part, make_part(with_gradient));
  part_of_round_.resize(std::max(part_of_round_.size(), static_cast<std::size_t>(round) + 1));
  part_of_round_[static_cast<std::size_t>(round)] = static_cast<std::size_t>(part - parts_.begin());
  for (const std::size_t i : with_gradient) parameters_[i].second.mutable_grad().reset();
}

GradientReduction::Part GradientReduction::make_part(
    const std::vector<std::size_t>& parameters) const {
  Part part{.parameters = parameters, .reducer = nullptr, .logger = nullptr};
  std::vector<at::Tensor> tensors;
  std::vector<bool> sparse;
  std::unordered_map<std::size_t, std::string> names;
  for (const std::size_t i : parameters) {
    const auto& [name, parameter] = parameters_[i];
    names[tensors.size()] = name;
    tensors.push_back(parameter);
    sparse.push_back(parameter.grad().is_sparse());
  }
  // As DistributedDataParallel does: one bucket at first, in the reverse order. The reducer makes
  // the final ones after the first backward pass.
  const std::vector<std::size_t> one_bucket{std::numeric_limits<int>::max()};
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(tensors, one_bucket, sparse));
  std::reverse(buckets.begin(), buckets.end());
  part.reducer = std::make_shared<c10d::Reducer>(
      tensors, buckets, ranks_.group->handle().group, sparse, ranks_.bucket_bytes,
      /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true, names,
      std::min<int64_t>(c10d::kDefaultFirstBucketBytes, ranks_.bucket_bytes),
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      /*bucket_bytes_cap_list=*/std::vector<int64_t>{});
  part.logger = std::make_unique<c10d::Logger>(part.reducer);
  part.logger->set_construction_data_and_log("", {}, -1, /*broadcast_buffers=*/false,
                                             /*has_sync_bn=*/false, /*static_graph=*/false);
  part.reducer->set_ddp_runtime_logging_sample_rate(1);
  return part;
}

void GradientReduction::check(int round) {
  const Part& part = parts_[part_of_round_[static_cast<std::size_t>(round)]];
  double all = 0;
  for (const std::size_t i : part.parameters) all += averages_[i].square().sum().item<double>();
  for (const std::size_t i : part.parameters) {
    const auto& [name, parameter] = parameters_[i];
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) throw std::runtime_error("the gradient of " + name + " was lost");
    const at::Tensor dense = gradient.is_sparse() ? gradient.to_dense() : gradient;
    const double off = (dense.to(at::kDouble) - averages_[i]).norm().item<double>();
    const double norm = averages_[i].norm().item<double>();
    if (off <= kTolerance * norm + kToleranceOfAll * std::sqrt(all)) continue;
    std::ostringstream what;
    what << "the reduced gradient of " << name << " is not the mean of the ranks' gradients: it is "
         << off << " away, expected at most " << kTolerance << " of its norm, " << norm;
    throw std::runtime_error(what.str());
  }
  averages_.clear();
}

void GradientReduction::before_forward(int round) {
  current_ = &parts_[part_of_round_[static_cast<std::size_t>(round)]];
  current_->reducer->prepare_for_forward();
  current_->reducer->rebuild_buckets();
}

void GradientReduction::before_backward() {
  if (at::Tensor* loss = workload_.loss_in_update()) {
    loss_ = loss->detach() / ranks_.size();
    ranks_.group->all_reduce(loss_);
  }
  current_->reducer->prepare_for_backward({});
}

void GradientReduction::after_backward() {
  // In a step that is not reduced, the loss of the last one that was: it is the same on all ranks,
  // so that their learning rates stay equal.
  if (at::Tensor* loss = workload_.loss_in_update()) *loss = loss_;
  if (!watched_) return;
  current_->logger->set_runtime_stats_and_log();
  const at::DDPLoggingData data = current_->logger->get_ddp_logging_data();
  watched_->seconds += seconds(data, "backward_comm_time");
  watched_->overlapped += seconds(data, "backward_compute_comm_overlap_time");
  watched_->buckets += std::ssize(current_->logger->get_bucket_sizes());
  for (const std::size_t i : current_->parameters) {
    watched_->bytes += own_bytes(parameters_[i].second.grad(), ranks_.size());
  }
}

void GradientReduction::check_parameters() const {
  const auto count = static_cast<int64_t>(parameters_.size());
  at::Tensor own = at::empty({count}, at::kLong);
  auto* hashes = own.mutable_data_ptr<int64_t>();
  for (const auto& [name, parameter] : parameters_) *hashes++ = hash(parameter);
  at::Tensor all = at::empty({ranks_.size() * count}, at::kLong);
  group().all_gather(all, own);
  const at::Tensor differs = all.view({ranks_.size(), count}).ne(own).nonzero();
  if (differs.size(0) == 0) return;
  const auto rank = differs[0][0].item<int64_t>();
  const auto parameter = static_cast<std::size_t>(differs[0][1].item<int64_t>());
  throw std::runtime_error("the parameter " + parameters_[parameter].first + " of rank " +
                           std::to_string(rank) + " differs from that of rank " +
                           std::to_string(group().rank()));
}

void GradientReduction::copy_from_rank_0() {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, parameter] : parameters_) tensors.push_back(parameter.detach());
  for (const auto& state : workload_.optimizer_state()) tensors.push_back(state.detach());
  c10d::broadcast_coalesced(group().handle().group, tensors, kBroadcastBytes);
}

}  // namespace fathom::models
