// a3c: Mnih, Badia, Mirza, Graves, Lillicrap, Harley, Silver and Kavukcuoglu, "Asynchronous Methods
// for Deep Reinforcement Learning", 2016: the advantage actor-critic with the feed-forward network.
// The environments take their steps at the same time instead of asynchronously, so that a training
// step is one update and can be repeated.
#include "models/tbd/a3c.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>
#include <c10/core/GradMode.h>

#include <memory>
#include <vector>

#include "fixtures/games/rollouts.h"
#include "models/table.h"
#include "ops/kernels/multinomial.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

constexpr int64_t kFrames = 4;   ///< frames in a state
constexpr int kActions = 6;      ///< Pong's minimal set
constexpr int64_t kSteps = 5;    ///< t_max in the paper
constexpr int64_t kPlaces = 81;  ///< of the second convolution, for 84 x 84 pixels
constexpr double kDiscount = 0.99;
constexpr double kEntropyWeight = 0.01;
constexpr double kMaxNorm = 40;

nn::Conv2d convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride));
}

}  // namespace

// The weights start from LibTorch's default, which is the paper's: uniform by the fan-in.
ActorCriticImpl::ActorCriticImpl(int64_t channels, int64_t hidden, int64_t actions)
    : conv1_(register_module("conv1", convolution(kFrames, channels, 8, 4))),
      conv2_(register_module("conv2", convolution(channels, 2 * channels, 4, 2))),
      hidden_(register_module("hidden", nn::Linear(2 * channels * kPlaces, hidden))),
      policy_(register_module("policy", nn::Linear(hidden, actions))),
      value_(register_module("value", nn::Linear(hidden, 1))) {}

ActorCriticImpl::Outputs ActorCriticImpl::forward(const at::Tensor& states) {
  const at::Tensor pixels = states.to(conv1_->weight.scalar_type()).div_(255);
  const at::Tensor maps = at::relu(conv2_->forward(at::relu(conv1_->forward(pixels))));
  const at::Tensor units = at::relu(hidden_->forward(maps.flatten(1)));
  return {.logits = policy_->forward(units), .values = value_->forward(units).squeeze(1)};
}

fixtures::BatchSet A3c::batches(const fixtures::BatchRequest& request) const {
  fixtures::BatchSet set = fixtures::rollouts({.steps = kSteps, .actions = kActions}, request);
  for (auto& batch : set.batches) {
    if (!request.training) batch.resize(fixtures::kLatest + 1);
  }
  return set;
}

std::vector<int64_t> A3c::output_shape(int64_t batch) const { return {batch, kActions}; }

at::Tensor A3c::infer(const fixtures::Batch& batch) {
  const at::Tensor probabilities =
      at::softmax(net_->forward(batch[fixtures::kLatest]).logits, /*dim=*/1);
  drawn_actions_ = ops::multinomial(probabilities);
  return probabilities;
}

/// Rewards and, after the last of them, the value of the latest state, discounted: [T N].
at::Tensor A3c::returns(const fixtures::Batch& batch) {
  const c10::NoGradGuard no_grad;
  at::Tensor later = net_->forward(batch[fixtures::kLatest]).values;
  const at::Tensor& rewards = batch[fixtures::kEarned];
  const at::Tensor kept = kDiscount * (1 - batch[fixtures::kEnded]);
  std::vector<at::Tensor> steps(static_cast<std::size_t>(rewards.size(0)));
  for (int64_t step = rewards.size(0) - 1; step >= 0; --step) {
    later = rewards[step] + kept[step] * later;
    steps[static_cast<std::size_t>(step)] = later;
  }
  return at::cat(steps);
}

at::Tensor A3c::loss(const fixtures::Batch& batch) {
  // Comes before returns(): autocast keeps the weights that it converts first, and those that it
  // converts without gradients would have none here, either.
  const auto [logits, values] = net_->forward(batch[fixtures::kSeen]);
  const at::Tensor advantages = returns(batch) - values;
  const at::Tensor logs = at::log_softmax(logits, /*dim=*/1);
  const at::Tensor chosen = logs.gather(1, batch[fixtures::kTaken]).squeeze(1);
  const at::Tensor squared_error = advantages.square().sum();
  const at::Tensor gain = (chosen * advantages.detach()).sum();
  const at::Tensor negative_entropy = (logs.exp() * logs).sum();
  const auto environments = static_cast<double>(batch[fixtures::kLatest].size(0));
  return (0.5 * squared_error - gain + kEntropyWeight * negative_entropy) / environments;
}

void A3c::update() {
  clip_norm(*net_, kMaxNorm);
  optimizer_.step(*net_);
}

std::unique_ptr<Workload> make_a3c(Scale scale) {
  const int64_t divisor = scale == Scale::kFull ? 1 : 8;
  return std::make_unique<A3c>(ActorCritic(16 / divisor, 256 / divisor, kActions));
}

}  // namespace fathom::models
