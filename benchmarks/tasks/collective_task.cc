#include "benchmarks/tasks/collective_task.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace fathom::benchmarks {
namespace {

/// Sums in place grow by the number of ranks with every call. After so many, those of numbers_of()
/// are still below the largest fp32 number, 2^128.
int calls_per_fill(int ranks) {
  constexpr double kMax = 32;
  constexpr double kLog2Growth = 124;
  return static_cast<int>(std::min(kMax, kLog2Growth / std::log2(ranks)));
}

/// Integers from 0 to 15, of which sums over many ranks are exact in fp32: [elements].
at::Tensor numbers_of(int rank, int64_t elements) {
  return at::arange(elements, at::kInt)
      .mul_(2 * rank + 1)
      .add_(5 * rank)
      .remainder_(16)
      .to(at::kFloat);
}

class CollectiveTask final : public RankTask {
 public:
  CollectiveTask(Collective collective, int64_t elements,
                 std::shared_ptr<const fixtures::Group> group, fixtures::Device device)
      : RankTask(std::move(group), device), collective_(collective) {
    const int64_t part = (elements + ranks() - 1) / ranks();
    const bool parts =
        collective == Collective::kAllGather || collective == Collective::kReduceScatter;
    const int64_t all = parts ? ranks() * part : elements;
    source_ = numbers_of(this->group().rank(), collective == Collective::kAllGather ? part : all)
                  .to(fixtures::torch_device(device));
    data_ = source_.clone();
    if (parts) {
      result_ = at::zeros({collective == Collective::kAllGather ? all : part}, source_.options());
    }
    const auto bytes = static_cast<double>(all) * sizeof(float);
    counts_.rates = {{"algbw", bytes}, {"busbw", bytes * bus_factor()}};
  }

  void run() override {
    switch (collective_) {
      case Collective::kAllReduce:
        if (++calls_ % calls_per_fill_ == 0) data_.copy_(source_);
        return group().all_reduce(data_);
      case Collective::kAllGather:
        return group().all_gather(result_, data_);
      case Collective::kReduceScatter:
        return group().reduce_scatter(result_, data_);
      case Collective::kBroadcast:
        return group().broadcast(data_);
    }
  }

  /// The first step; later ones sum up what earlier ones have left.
  void check() override {
    const at::Tensor found = (result_.defined() ? result_ : data_).cpu();
    const at::Tensor wrong = found.ne(expected()).nonzero();
    if (wrong.size(0) == 0) return;
    const auto place = wrong[0][0].item<int64_t>();
    std::ostringstream what;
    what << name(collective_) << ": element " << place << " is " << found[place].item<float>()
         << ", expected " << expected()[place].item<float>() << "; " << wrong.size(0) << " of "
         << found.size(0) << " are wrong";
    throw std::runtime_error(what.str());
  }

  /// Once more from the start, so that the values are exact again.
  void check_finite() override {
    data_.copy_(source_);
    calls_ = 0;
    if (result_.defined()) result_.zero_();
    run();
    check();
  }

  StepCounts counts() const override { return counts_; }

  bool computes() const override { return false; }
  void run_local() override { throw std::logic_error("a collective has no local step"); }
  void equalize() override {}
  void check_ranks() override {}  // check_finite() compares every element
  Counters watch(int64_t /*steps*/) override { return {}; }

 private:
  int ranks() const { return group().size(); }

  /// Bytes over the slowest connection a byte of the result, as nccl-tests counts them
  /// (doc/PERFORMANCE.md).
  double bus_factor() const {
    const double others = ranks() - 1;
    switch (collective_) {
      case Collective::kAllReduce:
        return 2 * others / ranks();
      case Collective::kBroadcast:
        return 1;
      default:
        return others / ranks();
    }
  }

  at::Tensor expected() const {
    const int64_t elements = data_.size(0);
    if (collective_ == Collective::kBroadcast) return numbers_of(0, elements);
    if (collective_ == Collective::kAllGather) {
      std::vector<at::Tensor> parts;
      for (int rank = 0; rank < ranks(); ++rank) parts.push_back(numbers_of(rank, elements));
      return at::cat(parts);
    }
    at::Tensor sum = numbers_of(0, elements);
    for (int rank = 1; rank < ranks(); ++rank) sum += numbers_of(rank, elements);
    if (collective_ == Collective::kAllReduce) return sum;
    const int64_t part = elements / ranks();
    return sum.narrow(0, group().rank() * part, part);
  }

  Collective collective_;
  at::Tensor source_;  ///< of this rank
  at::Tensor data_;    ///< its copy, in which all_reduce and broadcast leave their result
  at::Tensor result_;  ///< of the others
  int calls_per_fill_ = calls_per_fill(ranks());
  int calls_ = 0;
  StepCounts counts_;
};

}  // namespace

std::unique_ptr<RankTask> make_collective_task(Collective collective, int64_t elements,
                                               std::shared_ptr<const fixtures::Group> group,
                                               fixtures::Device device) {
  return std::make_unique<CollectiveTask>(collective, elements, std::move(group), device);
}

}  // namespace fathom::benchmarks
