#include "ops/kernels/fused_optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adagrad.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <stdexcept>
#include <utility>
#include <variant>

namespace fathom::ops {
namespace {

using List = std::vector<at::Tensor>;

/// The lists of one step. `steps` repeats one tensor, which counts this step already.
struct Lists {
  const List& parameters;
  const List& gradients;
  const std::vector<List>& states;
  const List& steps;
};

void update(const Sgd& rule, const Lists& lists) {
  at::_fused_sgd_(lists.parameters, lists.gradients, {}, /*weight_decay=*/0, /*momentum=*/0,
                  rule.rate, /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                  /*is_first_step=*/false);
}

/// Momentum starts at zero, so that the first step is no special case.
template <typename Rule>
void update_momentum(const Rule& rule, const Lists& lists, bool nesterov) {
  at::_fused_sgd_(lists.parameters, lists.gradients, lists.states[0], rule.weight_decay,
                  rule.momentum, rule.rate, /*dampening=*/0, nesterov, /*maximize=*/false,
                  /*is_first_step=*/false);
}

void update(const Momentum& rule, const Lists& lists) { update_momentum(rule, lists, false); }

void update(const Nesterov& rule, const Lists& lists) { update_momentum(rule, lists, true); }

void update(const Adam& rule, const Lists& lists) {
  const auto with_rate = [&](const auto& rate) {
    at::_fused_adam_(lists.parameters, lists.gradients, lists.states[0], lists.states[1], {},
                     lists.steps, rate, rule.beta1, rule.beta2, /*weight_decay=*/0, rule.epsilon,
                     /*amsgrad=*/false, /*maximize=*/false);
  };
  if (rule.warm_up == 0) {
    with_rate(rule.rate);
  } else {  // Adam::rate_of_step() on the device, which counts the steps
    const at::Tensor& step = lists.steps[0];
    const at::Tensor rises = step * std::pow(rule.warm_up, -1.5);
    with_rate(at::Tensor(at::minimum(step.rsqrt(), rises) * rule.rate));
  }
}

void update(const AdamW& rule, const Lists& lists) {
  at::_fused_adamw_(lists.parameters, lists.gradients, lists.states[0], lists.states[1], {},
                    lists.steps, rule.rate, rule.beta1, rule.beta2, rule.weight_decay, rule.epsilon,
                    /*amsgrad=*/false, /*maximize=*/false);
}

void update(const Adagrad& rule, const Lists& lists) {
  at::_fused_adagrad_(lists.parameters, lists.gradients, lists.states[0], lists.steps, rule.rate,
                      /*lr_decay=*/0, rule.weight_decay, rule.epsilon, /*maximize=*/false);
}

void update(const RmsProp& /*rule*/, const Lists& /*lists*/) {
  throw std::logic_error("refused by the constructor");
}

}  // namespace

List gradients_like(const List& parameters) {
  List gradients;
  for (const auto& parameter : parameters) {
    const at::Tensor& gradient = parameter.grad();
    TORCH_CHECK(gradient.defined(), "a parameter of sizes ", parameter.sizes(), " has no gradient");
    const bool same = gradient.strides() == parameter.strides();
    gradients.push_back(same ? gradient
                             : gradient.as_strided(parameter.sizes(), parameter.strides()));
  }
  return gradients;
}

FusedOptimizer::FusedOptimizer(const UpdateRule& rule, List parameters)
    : rule_(rule), parameters_(std::move(parameters)) {
  if (std::holds_alternative<RmsProp>(rule)) {
    throw std::invalid_argument("LibTorch has no fused kernel for RMSProp");
  }
  const c10::NoGradGuard no_grad;
  const int states = std::visit([](const auto& one) { return one.kStates; }, rule);
  states_.resize(static_cast<std::size_t>(states));
  for (auto& list : states_) {
    for (const auto& parameter : parameters_) list.push_back(at::zeros_like(parameter));
  }
  if (parameters_.empty()) return;
  steps_ = at::zeros({}, at::TensorOptions(at::kFloat).device(parameters_[0].device()));
}

void FusedOptimizer::step() {
  if (parameters_.empty()) return;
  const c10::NoGradGuard no_grad;
  steps_.add_(1);
  const List gradients = gradients_like(parameters_);
  const List steps(parameters_.size(), steps_);
  const Lists lists{
      .parameters = parameters_, .gradients = gradients, .states = states_, .steps = steps};
  std::visit([&](const auto& rule) { update(rule, lists); }, rule_);
}

List FusedOptimizer::states() const {
  List all;
  for (const auto& list : states_) all.insert(all.end(), list.begin(), list.end());
  return all;
}

void foreach_clip_norm(const List& gradients, double max_norm) {
  if (gradients.empty()) return;
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)));
  at::_foreach_mul_(gradients, (max_norm / (norm + 1e-6)).clamp_max_(1));
}

}  // namespace fathom::ops
