#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

namespace fathom::tests {

using NamedTensors = std::map<std::string, at::Tensor>;

/// Named inputs of an op for expect_gradients().
struct Inputs {
  at::Tensor given(const char* name, at::IntArrayRef shape, double scale = 1) {
    return tensors[name] = (at::randn(shape, at::kDouble) * scale).requires_grad_();
  }

  NamedTensors tensors;
};

/// Compares `loss` with `reference`, another implementation of the same function of `parameters`
/// (double), and its gradients with central differences of `reference`. Checks about `most` evenly
/// spread elements of every trainable parameter.
inline void expect_gradients(const NamedTensors& parameters,
                             const std::function<at::Tensor()>& loss,
                             const std::function<double()>& reference, int64_t most) {
  constexpr double kStep = 1e-5;
  for (const auto& [name, parameter] : parameters) parameter.mutable_grad().reset();
  const at::Tensor value = loss();
  const double expected = reference();
  EXPECT_NEAR(value.item<double>(), expected, 1e-8 * (1 + std::abs(expected)));
  value.backward();
  const c10::NoGradGuard no_grad;
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.requires_grad()) continue;
    auto* elements = parameter.mutable_data_ptr<double>();
    const at::Tensor gradient = parameter.grad().to_dense().contiguous();
    const auto* slopes = gradient.const_data_ptr<double>();
    const int64_t stride = std::max<int64_t>(parameter.numel() / most, 1);
    for (int64_t i = 0; i < parameter.numel(); i += stride) {
      const double kept = elements[i];
      elements[i] = kept + kStep;
      const double above = reference();
      elements[i] = kept - kStep;
      const double below = reference();
      elements[i] = kept;
      const double slope = (above - below) / (2 * kStep);
      EXPECT_NEAR(slopes[i], slope, 1e-5 * (1 + std::abs(slope))) << name << " element " << i;
    }
  }
}

}  // namespace fathom::tests
