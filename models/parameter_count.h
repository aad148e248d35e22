#pragma once

#include <torch/nn/module.h>

#include <cstdint>

namespace fathom::models {

/// Number of elements of all trainable parameters.
inline int64_t parameter_count(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const auto& parameter : module.parameters())
    count += parameter.requires_grad() ? parameter.numel() : 0;
  return count;
}

}  // namespace fathom::models
