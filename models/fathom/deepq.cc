// deepq: Mnih et al., "Human-level control through deep reinforcement learning", Nature 2015: the
// Q-network and its target network, with loss, update and initialisation of Fathom's released code.
// deepq_2013: Mnih et al., "Playing Atari with Deep Reinforcement Learning", 2013: a smaller
// network without a target network.
#include <ATen/ops/huber_loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <vector>

#include "fixtures/games/transitions.h"
#include "models/optimizers.h"
#include "models/table.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

constexpr int64_t kFrames = 4;   ///< frames in a state
constexpr int64_t kActions = 4;  ///< in the built-in game and in Breakout
constexpr double kDiscount = 0.99;

struct Convolution {
  int64_t channels;
  int64_t kernel;
  int64_t stride;
};

struct Sizes {
  std::vector<Convolution> convolutions;
  int64_t flat;    ///< outputs a channel of the last convolution, for 84 x 84 pixels
  int64_t hidden;  ///< units of the hidden layer
  bool target;     ///< whether there is a target network
};

const Sizes kDeepq{{{32, 8, 4}, {64, 4, 2}, {64, 3, 1}}, 49, 512, true};
const Sizes kDeepq2013{{{16, 8, 4}, {32, 4, 2}}, 81, 256, false};

Sizes shrunk(Sizes sizes) {
  for (auto& convolution : sizes.convolutions) convolution.channels /= 8;
  sizes.hidden /= 8;
  return sizes;
}

/// Maps states [N, 4, 84, 84] in [0, 1] to action values [N, actions].
nn::Sequential q_network(const Sizes& sizes) {
  nn::Sequential layers;
  int64_t channels = kFrames;
  for (std::size_t i = 0; i < sizes.convolutions.size(); ++i) {
    const auto& [width, kernel, stride] = sizes.convolutions[i];
    const std::string number = std::to_string(i + 1);
    layers->push_back("conv" + number,
                      nn::Conv2d(nn::Conv2dOptions(channels, width, kernel).stride(stride)));
    layers->push_back("relu" + number, nn::ReLU());
    channels = width;
  }
  layers->push_back("flatten", nn::Flatten());
  layers->push_back("hidden", nn::Linear(channels * sizes.flat, sizes.hidden));
  layers->push_back("relu_hidden", nn::ReLU());
  layers->push_back("values", nn::Linear(sizes.hidden, kActions));
  const torch::NoGradGuard no_grad;
  for (auto& parameter : layers->parameters()) {
    if (parameter.dim() > 1) {
      parameter.normal_(0, 0.01);
    } else {
      parameter.fill_(0.1);
    }
  }
  return layers;
}

/// The trained Q-network `online` and, if the sizes ask for it, a frozen copy, the target network.
class QNetworksImpl : public nn::Module {
 public:
  explicit QNetworksImpl(const Sizes& sizes) : online(register_module("online", q_network(sizes))) {
    if (!sizes.target) return;
    target = register_module("target", q_network(sizes));
    const torch::NoGradGuard no_grad;
    const auto from = online->parameters();
    const auto to = target->parameters();
    for (std::size_t i = 0; i < from.size(); ++i) {
      to[i].copy_(from[i]);
      to[i].set_requires_grad(false);
    }
  }

  /// Action values of next states, from the target network if there is one.
  at::Tensor next_values(const at::Tensor& states) {
    return (target.is_empty() ? online : target)->forward(states);
  }

  nn::Sequential online;
  nn::Sequential target{nullptr};
};
TORCH_MODULE(QNetworks);

/// Positions in a batch.
enum Field : std::size_t { kStates, kTakenActions, kRewards, kTerminals, kNextValues };

class DeepQ final : public Workload {
 public:
  explicit DeepQ(const Sizes& sizes) : networks_(sizes) {}

  /// Transitions from a replay memory. Computes the values of the next states here, outside the
  /// step.
  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    const torch::NoGradGuard no_grad;
    fixtures::BatchSet set = fixtures::transitions(kActions, request);
    const at::Device device = networks_->online->parameters()[0].device();
    for (auto& batch : set.batches) {
      const auto scaled = [&](std::size_t field) {
        return batch[field].to(device).to(at::kFloat).div_(255);
      };
      const at::Tensor next =
          std::get<0>(networks_->next_values(scaled(fixtures::kNextStates)).max(1));
      batch = {scaled(fixtures::kStates), batch[fixtures::kActions].unsqueeze(1),
               batch[fixtures::kRewards], batch[fixtures::kTerminals], next};
    }
    return set;
  }
  std::vector<int64_t> output_shape(int64_t batch) const override { return {batch, kActions}; }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return networks_->online->forward(batch[kStates]);
  }
  /// The Huber loss of the temporal difference with delta 1, summed over the batch.
  at::Tensor loss(const fixtures::Batch& batch) override {
    const at::Tensor value = infer(batch).gather(1, batch[kTakenActions]).squeeze(1);
    const at::Tensor target =
        batch[kRewards] + kDiscount * (1 - batch[kTerminals]) * batch[kNextValues];
    return at::huber_loss(value, target, at::Reduction::Sum, /*delta=*/1);
  }
  void update() override { optimizer_.step(*networks_->online); }

  nn::Module& module() override { return *networks_; }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

 private:
  mutable QNetworks networks_;
  RmsProp optimizer_{ops::RmsProp{.rate = 2.5e-4, .alpha = 0.95, .epsilon = 0.01}};
};

}  // namespace

std::unique_ptr<Workload> make_deepq(Scale scale) {
  return std::make_unique<DeepQ>(scale == Scale::kFull ? kDeepq : shrunk(kDeepq));
}

std::unique_ptr<Workload> make_deepq_2013(Scale scale) {
  return std::make_unique<DeepQ>(scale == Scale::kFull ? kDeepq2013 : shrunk(kDeepq2013));
}

}  // namespace fathom::models
