#include "models/step.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/nn/module.h>

namespace fathom::models {
namespace {

constexpr int kPoolSize =
    4;  // more than one batch, so that no step finds its very input in the cache

/// Autocast to bfloat16 while alive; nothing at other precisions.
class Autocast {
 public:
  Autocast(fixtures::Precision precision, at::DeviceType device)
      : on_(precision == fixtures::Precision::kBf16),
        device_(device),
        before_(at::autocast::is_autocast_enabled(device)) {
    if (!on_) return;
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!on_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, before_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool on_;
  at::DeviceType device_;
  bool before_;
};

}  // namespace

int64_t default_batch(const WorkloadRow& row, Mode mode) {
  return mode == Mode::kInfer && row.infer_batch > 0 ? row.infer_batch : row.batch;
}

Step::Step(const WorkloadRow& row, const StepOptions& options) : options_(options) {
  fixtures::allow_tf32(options.precision == fixtures::Precision::kTf32);
  at::manual_seed(options.seed);  // weights and dropout
  const at::Device device = fixtures::torch_device(options.device);
  workload_ = row.make(options.scale);
  workload_->module().to(device);
  workload_->module().train(options.mode == Mode::kTrain);
  pool_ = workload_->pool({.batch = options.batch,
                           .count = kPoolSize,
                           .seed = options.seed,
                           .training = options.mode == Mode::kTrain,
                           .source = options.data});
  for (auto& batch : pool_.batches) {
    for (auto& tensor : batch) tensor = tensor.to(device);
  }
}

void Step::run(const std::function<void(Phase)>& done) {
  const int rounds = options_.mode == Mode::kTrain ? workload_->updates_per_step() : 1;
  for (int round = 0; round < rounds; ++round) {
    forward();
    done(Phase::kForward);
    if (options_.mode == Mode::kInfer) break;
    backward();
    done(Phase::kBackward);
    update();
    done(Phase::kUpdate);
  }
  next_ = (next_ + 1) % pool_.batches.size();
}

void Step::forward() {
  const Autocast autocast(options_.precision, fixtures::torch_device(options_.device).type());
  result_.reset();  // not alive beside its successor
  if (options_.mode == Mode::kTrain) {
    result_ = workload_->loss(pool_.batches[next_]);
  } else {
    const c10::InferenceMode inference;
    result_ = workload_->infer(pool_.batches[next_]);
  }
}

void Step::backward() { result_.backward(); }

void Step::update() { workload_->update(); }

int64_t Step::parameter_count() const {
  int64_t count = 0;
  for (const auto& parameter : workload_->module().parameters())
    count += parameter.requires_grad() ? parameter.numel() : 0;
  return count;
}

std::vector<int64_t> Step::result_shape() const {
  return options_.mode == Mode::kTrain ? std::vector<int64_t>{}
                                       : workload_->output_shape(options_.batch);
}

}  // namespace fathom::models
