#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <vector>

namespace fathom::models {

/// A LibTorch optimizer for all parameters of one network. It is created at the first step, after
/// `.to(device)`, because Adagrad allocates its state when it is created.
class Optimizer {
 public:
  using Make = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<at::Tensor>)>;
  /// `scope` is the name of the update in a profile: "op:" and the op type.
  Optimizer(const char* scope, Make make) : scope_(scope), make_(std::move(make)) {}

  /// Applies the gradients of `net`, then frees them.
  void step(const torch::nn::Module& net);
  /// The state tensors, such as momentum buffers. Empty before the first step.
  std::vector<at::Tensor> state() const;

 private:
  const char* scope_;
  Make make_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

/// Scales all gradients of `net` so that their total norm is at most `max_norm`.
void clip_norm(const torch::nn::Module& net, double max_norm);

/// Stochastic gradient descent without momentum.
Optimizer sgd(double rate);
/// Stochastic gradient descent with momentum.
Optimizer momentum(double rate, double momentum, double weight_decay);
/// Adam with the decay rates of its paper: beta1 0.9, beta2 0.999.
Optimizer adam(double rate);
Optimizer adagrad(double rate, double weight_decay);

}  // namespace fathom::models
