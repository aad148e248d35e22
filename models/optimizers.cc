#include "models/optimizers.h"

#include <ATen/record_function.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

namespace fathom::models {
namespace {

using Parameters = std::vector<at::Tensor>;

}  // namespace

void Optimizer::step(const torch::nn::Module& net) {
  if (optimizer_ == nullptr) optimizer_ = make_(net.parameters());
  {
    RECORD_USER_SCOPE_WITH_INPUTS(scope_, std::vector<c10::IValue>{net.parameters()});
    optimizer_->step();
  }
  optimizer_->zero_grad();
}

std::vector<at::Tensor> Optimizer::state() const {
  if (optimizer_ == nullptr) return {};
  std::vector<at::Tensor> tensors;
  for (const auto& [parameter, state] : optimizer_->state()) {
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

void clip_norm(const torch::nn::Module& net, double largest) {
  const auto parameters = net.parameters();
  RECORD_USER_SCOPE_WITH_INPUTS("op:clip_norm", std::vector<c10::IValue>{parameters});
  torch::nn::utils::clip_grad_norm_(parameters, largest);
}

Optimizer sgd(double rate) {
  return {"op:sgd", [=](Parameters parameters) {
            return std::make_unique<torch::optim::SGD>(std::move(parameters), rate);
          }};
}

Optimizer momentum(double rate, double momentum, double weight_decay) {
  return {"op:momentum", [=](Parameters parameters) {
            return std::make_unique<torch::optim::SGD>(
                std::move(parameters),
                torch::optim::SGDOptions(rate).momentum(momentum).weight_decay(weight_decay));
          }};
}

Optimizer adam(double rate) {
  return {"op:adam", [=](Parameters parameters) {
            return std::make_unique<torch::optim::Adam>(std::move(parameters), rate);
          }};
}

Optimizer adagrad(double rate, double weight_decay) {
  return {"op:adagrad", [=](Parameters parameters) {
            return std::make_unique<torch::optim::Adagrad>(
                std::move(parameters),
                torch::optim::AdagradOptions(rate).weight_decay(weight_decay));
          }};
}

}  // namespace fathom::models
