#include "models/plateau_sgd.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

#include "ops/kernels/fused_optimizer.h"

namespace fathom::models {
namespace {

using List = std::vector<at::Tensor>;

constexpr int64_t kLosses = 3;
constexpr double kDecay = 0.99;

/// The parameters with dense gradients, also for the profiling scopes. Of the others an update
/// reads only a few rows, which depend on the batch.
List with_dense_gradients(List parameters) {
  std::erase_if(parameters, [](const auto& one) { return one.grad().is_sparse(); });
  return parameters;
}

/// The total norm of all gradients. Coalesces sparse ones, which adds rows of repeated words.
double gradient_norm(const List& parameters) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:clip_norm",
                                std::vector<c10::IValue>{with_dense_gradients(parameters)});
  List norms;
  for (const auto& parameter : parameters) {
    at::Tensor& gradient = parameter.mutable_grad();
    if (gradient.is_sparse()) gradient = gradient.coalesce();
    norms.push_back(at::linalg_vector_norm(gradient.is_sparse() ? gradient.values() : gradient));
  }
  return at::linalg_vector_norm(at::stack(norms)).item<double>();
}

/// The same as a scalar tensor.
at::Tensor gradient_norm_on_device(const List& parameters) {
  const List dense = with_dense_gradients(parameters);
  RECORD_USER_SCOPE_WITH_INPUTS("op:clip_norm", std::vector<c10::IValue>{dense});
  List gradients = ops::gradients_like(dense);
  for (const auto& parameter : parameters) {
    if (parameter.grad().is_sparse()) gradients.push_back(summed_rows(parameter.grad()));
  }
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)));
}

}  // namespace

at::Tensor summed_rows(const at::Tensor& gradient) {
  const at::Tensor ids = gradient._indices()[0];
  const at::Tensor places = at::arange(ids.size(0), ids.options());
  // Where an index occurs several times, one of its places remains.
  const at::Tensor owners =
      at::empty({gradient.size(0)}, ids.options()).scatter_(0, ids, places).gather(0, ids);
  const at::Tensor values = gradient._values();
  return at::zeros_like(values).index_add_(0, owners, values);
}

void PlateauSgd::step(const List& parameters, const at::Tensor& loss) {
  if (loss.is_cpu()) {
    step_on_cpu(parameters, loss.item<double>());
  } else {
    step_on_device(parameters, loss);
  }
}

void PlateauSgd::step_on_cpu(const List& parameters, double loss) {
  const c10::NoGradGuard no_grad;
  const double rate = rate_ * std::min(1.0, max_norm_ / gradient_norm(parameters));
  // The tutorial decays the rate after the step.
  if (std::ssize(losses_) == kLosses) {
    if (loss > *std::max_element(losses_.begin(), losses_.end())) rate_ *= kDecay;
    losses_.pop_front();
  }
  losses_.push_back(loss);
  RECORD_USER_SCOPE_WITH_INPUTS("op:sgd",
                                std::vector<c10::IValue>{with_dense_gradients(parameters)});
  for (const auto& parameter : parameters) {
    parameter.add_(parameter.grad(), -rate);
    parameter.mutable_grad().reset();
  }
}

void PlateauSgd::step_on_device(const List& parameters, const at::Tensor& loss) {
  const c10::NoGradGuard no_grad;
  const at::Tensor now = loss.detach().to(at::kDouble);
  if (!device_rate_.defined()) {
    device_rate_ = at::full({}, rate_, now.options());
    device_losses_ = at::full({kLosses}, std::numeric_limits<double>::infinity(), now.options());
  }
  const at::Tensor norm = gradient_norm_on_device(parameters);
  const at::Tensor rate =
      (device_rate_ * (max_norm_ / norm.to(at::kDouble)).clamp_max_(1)).to(at::kFloat);
  const at::Tensor worse = now.gt(device_losses_.max()).to(at::kDouble);
  device_rate_.mul_(1 - (1 - kDecay) * worse);
  device_losses_.copy_(at::cat({device_losses_.slice(0, 1), now.reshape({1})}));
  const List dense = with_dense_gradients(parameters);
  RECORD_USER_SCOPE_WITH_INPUTS("op:sgd", std::vector<c10::IValue>{dense});
  at::_fused_sgd_(dense, ops::gradients_like(dense), {}, /*weight_decay=*/0, /*momentum=*/0, rate,
                  /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                  /*is_first_step=*/false);
  for (const auto& parameter : parameters) {
    const at::Tensor& gradient = parameter.grad();
    if (gradient.is_sparse()) {
      parameter.index_add_(0, gradient._indices()[0], gradient._values() * rate, /*alpha=*/-1);
    }
    parameter.mutable_grad().reset();
  }
}

}  // namespace fathom::models
