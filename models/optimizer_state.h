#pragma once

#include <torch/optim/optimizer.h>

#include <vector>

namespace fathom::models {

/// What SGD with momentum (one buffer a parameter) or Adam (two) keeps beside the parameters; empty
/// before the first step.
std::vector<at::Tensor> optimizer_state(const torch::optim::Optimizer& optimizer);

}  // namespace fathom::models
