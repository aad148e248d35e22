#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <vector>

namespace fathom::models {

/// Stochastic gradient descent with momentum over all parameters of `net`.
std::unique_ptr<torch::optim::Optimizer> sgd(const torch::nn::Module& net, double rate,
                                             double momentum, double weight_decay);
/// Adam over all parameters of `net`, with the paper's decay rates.
std::unique_ptr<torch::optim::Optimizer> adam(const torch::nn::Module& net, double rate);
/// Adagrad over all parameters of `net`. It makes its state at once, on their device.
std::unique_ptr<torch::optim::Optimizer> adagrad(const torch::nn::Module& net, double rate,
                                                 double weight_decay);

/// Tensors that one of these keeps beside the parameters; empty before the first step.
std::vector<at::Tensor> optimizer_state(const torch::optim::Optimizer& optimizer);

}  // namespace fathom::models
