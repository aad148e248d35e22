#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "models/transformer_layers.h"
#include "ops/kernels/add_norm.h"

namespace fathom::models {

/// A dense layer without a bias. LibTorch's draws its weight on one thread.
class MatrixImpl : public torch::nn::Module {
 public:
  /// Of a weight [outputs, inputs].
  explicit MatrixImpl(const at::Tensor& initial);

  /// [..., inputs] to [..., outputs].
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
};
TORCH_MODULE(Matrix);

/// RMS normalisation of the rows of [..., width].
class RmsNormImpl : public torch::nn::Module {
 public:
  explicit RmsNormImpl(int64_t width, double epsilon = 1e-5);

  /// The states and their normalisation.
  ops::SumAndNorm forward(const Residual& in) const;

  at::Tensor weight;

 private:
  double epsilon_;
};
TORCH_MODULE(RmsNorm);

}  // namespace fathom::models
