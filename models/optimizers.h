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

/// Tensors that SGD or Adam keeps beside the parameters; empty before the first step.
std::vector<at::Tensor> optimizer_state(const torch::optim::Optimizer& optimizer);

}  // namespace fathom::models
