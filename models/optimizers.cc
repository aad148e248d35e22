#include "models/optimizers.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

namespace fathom::models {

std::unique_ptr<torch::optim::Optimizer> sgd(const torch::nn::Module& net, double rate,
                                             double momentum, double weight_decay) {
  return std::make_unique<torch::optim::SGD>(
      net.parameters(),
      torch::optim::SGDOptions(rate).momentum(momentum).weight_decay(weight_decay));
}

std::unique_ptr<torch::optim::Optimizer> adam(const torch::nn::Module& net, double rate) {
  return std::make_unique<torch::optim::Adam>(net.parameters(), torch::optim::AdamOptions(rate));
}

std::unique_ptr<torch::optim::Optimizer> adagrad(const torch::nn::Module& net, double rate,
                                                 double weight_decay) {
  return std::make_unique<torch::optim::Adagrad>(
      net.parameters(), torch::optim::AdagradOptions(rate).weight_decay(weight_decay));
}

std::vector<at::Tensor> optimizer_state(const torch::optim::Optimizer& optimizer) {
  std::vector<at::Tensor> tensors;
  for (const auto& [parameter, state] : optimizer.state()) {
    if (const auto* one = dynamic_cast<const torch::optim::SGDParamState*>(state.get())) {
      if (one->momentum_buffer().defined()) tensors.push_back(one->momentum_buffer());
    } else if (const auto* two = dynamic_cast<const torch::optim::AdamParamState*>(state.get())) {
      tensors.insert(tensors.end(), {two->exp_avg(), two->exp_avg_sq()});
    } else if (const auto* sum =
                   dynamic_cast<const torch::optim::AdagradParamState*>(state.get())) {
      tensors.push_back(sum->sum());
    }
  }
  return tensors;
}

}  // namespace fathom::models
