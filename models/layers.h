#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <string>

#include "ops/kernels/local_response_norm.h"

namespace fathom::models {

/// ops::local_response_norm as a layer.
class LocalResponseNormImpl : public torch::nn::Cloneable<LocalResponseNormImpl> {
 public:
  explicit LocalResponseNormImpl(ops::LocalResponseNorm norm) : norm_(norm) {}
  void reset() override {}
  at::Tensor forward(const at::Tensor& x) { return ops::local_response_norm(x, norm_); }

 private:
  ops::LocalResponseNorm norm_;
};
TORCH_MODULE(LocalResponseNorm);

/// TensorFlow's SAME padding of a square window, which puts the odd pixel behind: [N, C, S, S] with
/// `value` around it, so that an unpadded window of `kernel` and `stride` gives ceil(S / stride).
class SamePadImpl : public torch::nn::Cloneable<SamePadImpl> {
 public:
  SamePadImpl(int64_t kernel, int64_t stride, double value = 0)
      : kernel_(kernel), stride_(stride), value_(value) {}
  void reset() override {}
  at::Tensor forward(const at::Tensor& x);

 private:
  int64_t kernel_;
  int64_t stride_;
  double value_;
};
TORCH_MODULE(SamePad);

/// He's normal distribution over the outputs for convolutions, a normal one of deviation 0.01 for
/// dense layers, zero for biases.
void initialise_he(torch::nn::Module& net);

}  // namespace fathom::models
