#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <string>

#include "ops/kernels/local_response_norm.h"

namespace fathom::models {

/// ops::local_response_norm() as a layer. Keeps the shape.
class LocalResponseNormImpl : public torch::nn::Cloneable<LocalResponseNormImpl> {
 public:
  explicit LocalResponseNormImpl(ops::LocalResponseNormOptions norm) : norm_(norm) {}
  void reset() override {}
  at::Tensor forward(const at::Tensor& x) { return ops::local_response_norm(x, norm_); }

 private:
  ops::LocalResponseNormOptions norm_;
};
TORCH_MODULE(LocalResponseNorm);

/// TensorFlow's SAME padding for a square window: pads [N, C, S, S] with `value`, so that an
/// unpadded window of size `kernel` with `stride` gives ceil(S / stride) outputs a side. If the
/// padding is odd, the extra pixel is on the right and at the bottom.
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

/// Initialises convolutions with He's normal distribution (fan out), linear layers with a normal
/// distribution of standard deviation 0.01, and biases with 0.
void initialise_he(torch::nn::Module& net);

}  // namespace fathom::models
