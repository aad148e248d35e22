#pragma once

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace fathom::tests {

/// An op's inputs as the parameters of a module, for expect_gradients.
struct Inputs : torch::nn::Module {
  at::Tensor given(const char* name, at::IntArrayRef shape, double scale = 1) {
    return register_parameter(name, at::randn(shape, at::kDouble) * scale);
  }
};

/// Holds a loss and its gradients to a reference that computes the same loss by other means from
/// the parameters of `net`, which are double: the values, and at up to `most` evenly spread
/// elements of every trainable parameter the gradient against central differences.
inline void expect_gradients(torch::nn::Module& net, const std::function<at::Tensor()>& loss,
                             const std::function<double()>& reference, int64_t most) {
  constexpr double kStep = 1e-5;
  net.zero_grad();
  const at::Tensor value = loss();
  const double expected = reference();
  EXPECT_NEAR(value.item<double>(), expected, 1e-8 * (1 + std::abs(expected)));
  value.backward();
  const torch::NoGradGuard no_grad;
  for (const auto& parameter : net.named_parameters()) {
    if (!parameter->requires_grad()) continue;
    auto* elements = parameter->mutable_data_ptr<double>();
    const at::Tensor gradient = parameter->grad().to_dense().contiguous();
    const auto* slopes = gradient.const_data_ptr<double>();
    const int64_t stride = std::max<int64_t>(parameter->numel() / most, 1);
    for (int64_t i = 0; i < parameter->numel(); i += stride) {
      const double kept = elements[i];
      elements[i] = kept + kStep;
      const double above = reference();
      elements[i] = kept - kStep;
      const double below = reference();
      elements[i] = kept;
      const double slope = (above - below) / (2 * kStep);
      EXPECT_NEAR(slopes[i], slope, 1e-5 * (1 + std::abs(slope)))
          << parameter.key() << " element " << i;
    }
  }
}

}  // namespace fathom::tests
