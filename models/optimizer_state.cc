#include "models/optimizer_state.h"

#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

namespace fathom::models {

std::vector<at::Tensor> optimizer_state(const torch::optim::Optimizer& optimizer) {
  std::vector<at::Tensor> tensors;
  for (const auto& [parameter, state] : optimizer.state()) {
    if (const auto* sgd = dynamic_cast<const torch::optim::SGDParamState*>(state.get())) {
      if (sgd->momentum_buffer().defined()) tensors.push_back(sgd->momentum_buffer());
    } else if (const auto* adam = dynamic_cast<const torch::optim::AdamParamState*>(state.get())) {
      tensors.insert(tensors.end(), {adam->exp_avg(), adam->exp_avg_sq()});
    }
  }
  return tensors;
}

}  // namespace fathom::models
