#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "models/optimizers.h"
#include "models/workload.h"

namespace fathom::models {

/// Two convolutions and a hidden layer, which the policy and the value of a state share.
class ActorCriticImpl : public torch::nn::Module {
 public:
  /// The first convolution has `channels` channels, the second twice as many.
  ActorCriticImpl(int64_t channels, int64_t hidden, int64_t actions);

  struct Outputs {
    at::Tensor logits;  ///< [N, actions]
    at::Tensor values;  ///< [N]
  };
  /// Of states [N, 4, 84, 84] of gray bytes.
  Outputs forward(const at::Tensor& states);

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::Conv2d conv2_;
  torch::nn::Linear hidden_;
  torch::nn::Linear policy_;
  torch::nn::Linear value_;
};
TORCH_MODULE(ActorCritic);

/// Trains on rollouts of N environments (fields: fixtures/games/rollouts.h). Inference acts in
/// their latest states.
class A3c final : public Workload {
 public:
  explicit A3c(ActorCritic net) : net_(std::move(net)) {}

  /// For inference only the latest states.
  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override;
  std::vector<int64_t> output_shape(int64_t batch) const override;

  /// The probabilities of the actions, [N, actions]. Draws one for each environment.
  at::Tensor infer(const fixtures::Batch& batch) override;
  /// Mnih et al. 2016, algorithm S3: summed over the steps, averaged over the environments.
  at::Tensor loss(const fixtures::Batch& batch) override;
  void update() override;

  torch::nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

  /// The actions that the last infer() drew, [N, 1] int64.
  const at::Tensor& drawn_actions() const { return drawn_actions_; }

 private:
  at::Tensor returns(const fixtures::Batch& batch);

  ActorCritic net_;
  RmsProp optimizer_{ops::RmsProp{.rate = 7e-4, .alpha = 0.99, .epsilon = 0.1}};
  at::Tensor drawn_actions_;
};

}  // namespace fathom::models
