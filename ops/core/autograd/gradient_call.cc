#include "ops/core/autograd/gradient_call.h"

#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

namespace fathom::ops {

Call gradient_call(const std::function<Tensors(const Tensors&)>& forward, const Tensors& leaves,
                   const Tensors& gradients) {
  const c10::InferenceMode off(false);  // other calls are timed in inference mode
  Tensors inputs;
  torch::autograd::variable_list differentiable;
  for (const auto& leaf : leaves) {
    inputs.push_back(leaf.detach());
    if (leaf.is_floating_point()) differentiable.push_back(inputs.back().requires_grad_());
  }
  const Tensors made = forward(inputs);
  const torch::autograd::variable_list outputs(made.begin(), made.end());
  const torch::autograd::variable_list seeds(gradients.begin(), gradients.end());
  return [=] {
    const c10::InferenceMode off_again(false);
    const auto found = torch::autograd::grad(outputs, differentiable, seeds, /*retain_graph=*/true);
    return Tensors(found.begin(), found.end());
  };
}

}  // namespace fathom::ops
