#pragma once

#include <torch/optim/sgd.h>

#include <vector>

namespace fathom::models {

/// One buffer a parameter that was updated with momentum; empty before the first step.
std::vector<at::Tensor> momentum_buffers(const torch::optim::SGD& optimizer);

}  // namespace fathom::models
