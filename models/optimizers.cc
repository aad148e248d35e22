#include "models/optimizers.h"

#include <ATen/ops/ones_like.h>
#include <ATen/record_function.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <utility>
#include <variant>

#include "ops/kernels/fused_clip.h"
#include "ops/kernels/fused_composites.h"
#include "ops/kernels/fused_update.h"

namespace fathom::models {
namespace {

using Parameters = std::vector<at::Tensor>;

bool on_gpu(const Parameters& parameters) { return !parameters.empty() && parameters[0].is_cuda(); }

void free_gradients(const Parameters& parameters) {
  for (const auto& parameter : parameters) parameter.mutable_grad().reset();
}

/// Appends the tensors of one parameter's state.
void add_state(const torch::optim::OptimizerParamState& state, std::vector<at::Tensor>& tensors) {
  using namespace torch::optim;
  if (const auto* sgd = dynamic_cast<const SGDParamState*>(&state)) {
    if (sgd->momentum_buffer().defined()) tensors.push_back(sgd->momentum_buffer());
  } else if (const auto* adam = dynamic_cast<const AdamParamState*>(&state)) {
    tensors.insert(tensors.end(), {adam->exp_avg(), adam->exp_avg_sq()});
  } else if (const auto* adamw = dynamic_cast<const AdamWParamState*>(&state)) {
    tensors.insert(tensors.end(), {adamw->exp_avg(), adamw->exp_avg_sq()});
  } else if (const auto* adagrad = dynamic_cast<const AdagradParamState*>(&state)) {
    tensors.push_back(adagrad->sum());
  }
}

/// The parameters of `net` that are trained, which have gradients.
Parameters trained(const torch::nn::Module& net) {
  Parameters parameters = net.parameters();
  std::erase_if(parameters, [](const at::Tensor& one) { return !one.requires_grad(); });
  return parameters;
}

}  // namespace

void Optimizer::step(const torch::nn::Module& net) { step(trained(net)); }

void Optimizer::step(const Parameters& parameters) {
  if (optimizer_ == nullptr && !fused_) {
    if (on_gpu(parameters) || ops::fused_composites()) {
      fused_.emplace(rule_, parameters);
    } else {
      optimizer_ = make_(parameters);
    }
  }
  {
    const char* scope = std::visit([](const auto& rule) { return rule.kScope; }, rule_);
    RECORD_USER_SCOPE_WITH_INPUTS(scope, std::vector<c10::IValue>{parameters});
    if (fused_) {
      fused_->step();
    } else {
      set_rate();
      optimizer_->step();
    }
  }
  free_gradients(parameters);
}

void Optimizer::set_rate() {
  auto* rule = std::get_if<ops::Adam>(&rule_);
  if (rule == nullptr || rule->warm_up == 0) return;
  optimizer_->param_groups()[0].options().set_lr(rule->rate_of_step());
  ++rule->step;
}

std::vector<at::Tensor> Optimizer::state() const {
  if (fused_) return fused_->states();
  if (optimizer_ == nullptr) return {};
  const auto& states =
      optimizer_->state();  // by address, in an order that differs between processes
  std::vector<at::Tensor> tensors;
  for (const auto& group : optimizer_->param_groups()) {
    for (const auto& parameter : group.params()) {
      const auto found = states.find(parameter.unsafeGetTensorImpl());
      if (found != states.end()) add_state(*found->second, tensors);
    }
  }
  return tensors;
}

void RmsProp::step(const torch::nn::Module& net) {
  const torch::NoGradGuard no_grad;
  const Parameters parameters = trained(net);
  if (mean_squares_.empty()) {
    for (const auto& parameter : parameters) mean_squares_.push_back(at::ones_like(parameter));
  }
  ops::fused_update(rule_, {parameters, ops::gradients_like(parameters), mean_squares_});
  free_gradients(parameters);
}

void clip_norm(const torch::nn::Module& net, double max_norm) {
  const Parameters parameters = trained(net);
  RECORD_USER_SCOPE_WITH_INPUTS("op:clip_norm", std::vector<c10::IValue>{parameters});
  // clip_grad_norm_ returns the norm as a number, for which it waits for a GPU.
  if (on_gpu(parameters)) {
    ops::foreach_clip_norm(ops::gradients_like(parameters), max_norm);
  } else if (ops::fused_composites()) {
    ops::fused_clip(ops::gradients_like(parameters), max_norm);
  } else {
    torch::nn::utils::clip_grad_norm_(parameters, max_norm);
  }
}

Optimizer sgd(double rate) {
  return {ops::Sgd{rate}, [=](Parameters parameters) {
            return std::make_unique<torch::optim::SGD>(std::move(parameters), rate);
          }};
}

Optimizer momentum(double rate, double momentum, double weight_decay) {
  return {ops::Momentum{rate, momentum, weight_decay}, [=](Parameters parameters) {
            return std::make_unique<torch::optim::SGD>(
                std::move(parameters),
                torch::optim::SGDOptions(rate).momentum(momentum).weight_decay(weight_decay));
          }};
}

Optimizer nesterov(double rate, double momentum, double weight_decay) {
  return {ops::Nesterov{rate, momentum, weight_decay}, [=](Parameters parameters) {
            return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                                       torch::optim::SGDOptions(rate)
                                                           .momentum(momentum)
                                                           .weight_decay(weight_decay)
                                                           .nesterov(true));
          }};
}

Optimizer adam(double rate, double beta1, double beta2) {
  return adam(ops::Adam{.rate = rate, .beta1 = beta1, .beta2 = beta2});
}

Optimizer adam(const ops::Adam& rule) {
  return {
      rule, [=](Parameters parameters) {
        return std::make_unique<torch::optim::Adam>(
            std::move(parameters),
            torch::optim::AdamOptions(rule.rate).betas({rule.beta1, rule.beta2}).eps(rule.epsilon));
      }};
}

Optimizer adamw(double rate, double weight_decay, double beta1, double beta2) {
  return {ops::AdamW{.rate = rate, .weight_decay = weight_decay, .beta1 = beta1, .beta2 = beta2},
          [=](Parameters parameters) {
            return std::make_unique<torch::optim::AdamW>(
                std::move(parameters),
                torch::optim::AdamWOptions(rate).betas({beta1, beta2}).weight_decay(weight_decay));
          }};
}

Optimizer adagrad(double rate, double weight_decay) {
  return {ops::Adagrad{rate, weight_decay}, [=](Parameters parameters) {
            return std::make_unique<torch::optim::Adagrad>(
                std::move(parameters),
                torch::optim::AdagradOptions(rate).weight_decay(weight_decay));
          }};
}

}  // namespace fathom::models
