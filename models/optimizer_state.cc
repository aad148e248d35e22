#include "models/optimizer_state.h"

namespace fathom::models {

std::vector<at::Tensor> momentum_buffers(const torch::optim::SGD& optimizer) {
  std::vector<at::Tensor> buffers;
  for (const auto& [parameter, state] : optimizer.state()) {
    const auto& buffer = static_cast<const torch::optim::SGDParamState&>(*state).momentum_buffer();
    if (buffer.defined()) buffers.push_back(buffer);
  }
  return buffers;
}

}  // namespace fathom::models
