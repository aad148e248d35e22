#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/kernels/update_rules.h"

namespace fathom::ops {

/// The gradients of `parameters`, with the strides of the parameters. Autograd lets the strides of
/// dimensions of size 1 differ, which LibTorch's fused kernels refuse. Throws c10::Error for a
/// parameter without a gradient.
std::vector<at::Tensor> gradients_like(const std::vector<at::Tensor>& parameters);

/// An optimizer of LibTorch's fused kernels, as PyTorch's optimizers with `fused=True` use them. A
/// kernel updates many tensors; torch::optim launches several kernels for each tensor. Computes
/// what torch::optim computes. Never waits for a GPU, and counts steps on it, so that a CUDA graph
/// can replay a step.
class FusedOptimizer {
 public:
  /// Allocates the states. Throws std::invalid_argument for RmsProp: LibTorch has no fused kernel.
  FusedOptimizer(const UpdateRule& rule, std::vector<at::Tensor> parameters);

  /// Applies the gradients, which every parameter must have.
  void step();
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  /// The states of all parameters: momentum, or Adam's two moments, or Adagrad's sums.
  std::vector<at::Tensor> states() const;

 private:
  UpdateRule rule_;
  std::vector<at::Tensor> parameters_;
  std::vector<std::vector<at::Tensor>> states_;  ///< a list for each state of the rule
  at::Tensor steps_;                             ///< float, the number of steps
};

/// Scales gradients in place so that their common norm is at most `max_norm`, like
/// torch::nn::utils::clip_grad_norm_, but never waits for a GPU.
void foreach_clip_norm(const std::vector<at::Tensor>& gradients, double max_norm);

}  // namespace fathom::ops
