#include "models/loss_scale.h"

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

namespace fathom::models {

LossScale::LossScale(at::Device device)
    : factor_(at::full({}, 0x1p16, at::TensorOptions(at::kFloat).device(device))),
      updates_(at::zeros({}, at::TensorOptions(at::kInt).device(device))),
      overflow_(at::zeros({}, at::TensorOptions(at::kFloat).device(device))) {}

bool LossScale::unscale(const std::vector<at::Tensor>& parameters) {
  constexpr double kGrowth = 2;
  constexpr double kBackoff = 0.5;
  constexpr int64_t kGrowthInterval = 2000;
  const c10::AutoGradMode no_gradient(false);
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : parameters) {
    const at::Tensor& gradient = parameter.grad();
    if (gradient.defined())
      gradients.push_back(gradient.is_sparse() ? gradient._values() : gradient);
  }
  overflow_.zero_();
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow_, factor_.reciprocal());
  const bool is_finite = overflow_.item<float>() == 0;
  at::_amp_update_scale_(factor_, updates_, overflow_, kGrowth, kBackoff, kGrowthInterval);
  if (!is_finite) {
    for (const auto& parameter : parameters) parameter.mutable_grad().reset();
  }
  return is_finite;
}

}  // namespace fathom::models
