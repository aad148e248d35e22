// Copies a batch to the GPU. Fathom's runtime timed this copy with the step; our steps exclude it.
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>

#include <stdexcept>

#include "benchmarks/tasks/fixture_task.h"
#include "fixtures/images/images.h"

namespace fathom::benchmarks {
namespace {

class CopyTask final : public Task {
 public:
  /// AlexNet's batch: 38.5 MB.
  CopyTask(const FixtureOptions& options, bool pinned) {
    constexpr int64_t kBatch = 64;
    from_ =
        fixtures::images({.side = 224, .classes = 1000}, {.batch = kBatch, .seed = options.seed})
            .batches[0][fixtures::kImages];
    if (pinned) from_ = from_.pin_memory();
    to_ = at::empty_like(from_, fixtures::torch_device(fixtures::Device::kCuda));
    counts_.items = kBatch;
    counts_.bytes = static_cast<double>(from_.nbytes());
  }

  void run() override { to_.copy_(from_, /*non_blocking=*/true); }
  void check() override {
    if (!at::equal(to_.cpu(), from_)) throw std::runtime_error("the copy differs from its source");
  }
  void check_finite() override {}
  StepCounts counts() const override { return counts_; }

 private:
  at::Tensor from_;
  at::Tensor to_;
  StepCounts counts_;
};

}  // namespace

std::unique_ptr<Task> make_host_to_device(const FixtureOptions& options) {
  return std::make_unique<CopyTask>(options, /*pinned=*/false);
}

std::unique_ptr<Task> make_host_to_device_pinned(const FixtureOptions& options) {
  return std::make_unique<CopyTask>(options, /*pinned=*/true);
}

}  // namespace fathom::benchmarks
