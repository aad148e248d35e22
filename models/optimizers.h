#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ops/kernels/fused_optimizer.h"

namespace fathom::models {

/// LibTorch's optimizer for the parameters of one network: torch::optim on the CPU, its fused
/// kernels on a GPU and with ops::fused_composites(). It is created at the first step, after
/// `.to(device)`, because it allocates its state when it is created.
class Optimizer {
 public:
  using Make = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<at::Tensor>)>;

  /// `make` makes the torch::optim optimizer that computes `rule`.
  Optimizer(const ops::UpdateRule& rule, Make make) : rule_(rule), make_(std::move(make)) {}

  /// Applies the gradients of `net`, then frees them.
  void step(const torch::nn::Module& net);
  /// The same for some parameters of a network, which must be those of the first step.
  void step(const std::vector<at::Tensor>& parameters);
  /// The state tensors, such as momentum buffers, in the order of the parameters. Empty before the
  /// first step.
  std::vector<at::Tensor> state() const;

 private:
  /// Sets the rate of the next step on the CPU if it changes from step to step.
  void set_rate();

  ops::UpdateRule rule_;
  Make make_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;  ///< unless fused_ is one
  std::optional<ops::FusedOptimizer> fused_;
};

/// RMSProp in TensorFlow's form, in this project's kernel on every device. LibTorch has another
/// form.
class RmsProp {
 public:
  explicit RmsProp(const ops::RmsProp& rule) : rule_(rule) {}

  /// Applies the gradients of `net`, then frees them.
  void step(const torch::nn::Module& net);
  /// The mean squares, which start at 1. Empty before the first step.
  const std::vector<at::Tensor>& state() const { return mean_squares_; }

 private:
  ops::RmsProp rule_;
  std::vector<at::Tensor> mean_squares_;
};

/// Scales all gradients of `net` so that their total norm is at most `max_norm`.
void clip_norm(const torch::nn::Module& net, double max_norm);

/// Stochastic gradient descent without momentum.
Optimizer sgd(double rate);
/// Stochastic gradient descent with momentum.
Optimizer momentum(double rate, double momentum, double weight_decay);
/// The same with Nesterov's momentum.
Optimizer nesterov(double rate, double momentum, double weight_decay);
/// Adam. The default decay rates are those of its paper.
Optimizer adam(double rate, double beta1 = 0.9, double beta2 = 0.999);
Optimizer adam(const ops::Adam& rule);
/// Adam with decoupled weight decay of all parameters that it gets.
Optimizer adamw(double rate, double weight_decay, double beta1 = 0.9, double beta2 = 0.999);
Optimizer adagrad(double rate, double weight_decay);

}  // namespace fathom::models
