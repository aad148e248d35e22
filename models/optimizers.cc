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
    if (const auto* sgd_state = dynamic_cast<const torch::optim::SGDParamState*>(state.get())) {
      if (sgd_state->momentum_buffer().defined()) tensors.push_back(sgd_state->momentum_buffer());
    } else if (const auto* adam_state =
                   dynamic_cast<const torch::optim::AdamParamState*>(state.get())) {
      tensors.insert(tensors.end(), {adam_state->exp_avg(), adam_state->exp_avg_sq()});
    } else if (const auto* adagrad_state =
                   dynamic_cast<const torch::optim::AdagradParamState*>(state.get())) {
      tensors.push_back(adagrad_state->sum());
    }
  }
  return tensors;
}

void clip_norm(const torch::nn::Module& net, double max_norm) {
  const auto parameters = net.parameters();
  RECORD_USER_SCOPE_WITH_INPUTS("op:clip_norm", std::vector<c10::IValue>{parameters});
  torch::nn::utils::clip_grad_norm_(parameters, max_norm);
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
