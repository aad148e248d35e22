#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <vector>

namespace fathom::models {

/// A LibTorch optimizer over all parameters of one network. It is made at the first step: by then
/// they lie where they stay, and Adagrad makes its state at once.
class Optimizer {
 public:
  using Make = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<at::Tensor>)>;
  /// `scope` is the op type that a profile shows the update as.
  Optimizer(const char* scope, Make make) : scope_(scope), make_(std::move(make)) {}

  /// Applies the gradients of `net` and drops them.
  void step(const torch::nn::Module& net);
  /// Tensors that it keeps beside the parameters; empty before the first step.
  std::vector<at::Tensor> state() const;

 private:
  const char* scope_;
  Make make_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

/// Scales all gradients of `net` so that their common norm is at most `largest`.
void clip_norm(const torch::nn::Module& net, double largest);

/// Stochastic gradient descent.
Optimizer sgd(double rate);
Optimizer momentum(double rate, double momentum, double weight_decay);
/// Adam with the paper's decay rates.
Optimizer adam(double rate);
Optimizer adagrad(double rate, double weight_decay);

}  // namespace fathom::models
