#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <string>
#include <variant>

#include "ops/kernels/convolution_double_backward.h"
#include "ops/kernels/local_response_norm.h"

namespace fathom::models {

/// A square convolution that keeps the image's size, or divides it by `stride`. `kernel` is odd.
inline torch::nn::Conv2dOptions convolution(int64_t in, int64_t out, int64_t kernel,
                                            int64_t stride = 1) {
  return torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2);
}

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

/// ops::twice_differentiable_conv2d() as a layer, for padding by numbers of pixels.
class TwiceDifferentiableConv2dImpl : public torch::nn::Conv2dImpl {
 public:
  using Conv2dImpl::Conv2dImpl;
  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method): Sequential calls it by this name
  at::Tensor forward(const at::Tensor& x) {
    const auto& padding = std::get<torch::ExpandingArray<2>>(options.padding());
    return ops::twice_differentiable_conv2d(
        x, weight, bias, {*options.stride(), *padding, *options.dilation(), options.groups()});
  }
};
TORCH_MODULE(TwiceDifferentiableConv2d);

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

/// A convolution without bias, batch normalisation and, unless `relu` is false, a ReLU: [N, in, H,
/// W] to [N, out, H', W'].
class ConvNormImpl : public torch::nn::Cloneable<ConvNormImpl> {
 public:
  explicit ConvNormImpl(torch::nn::Conv2dOptions convolution, bool relu = true,
                        double epsilon = 1e-5);
  void reset() override;
  at::Tensor forward(const at::Tensor& x);

 private:
  torch::nn::Conv2dOptions options_;
  bool relu_;
  double epsilon_;
  torch::nn::Conv2d conv_{nullptr};
  torch::nn::BatchNorm2d norm_{nullptr};
};
TORCH_MODULE(ConvNorm);

/// Initialises convolutions with He's normal distribution (fan out) and their biases with 0.
void initialise_convolutions_he(torch::nn::Module& net);

/// Initialises convolutions with He's normal distribution (fan out), linear layers with a normal
/// distribution of standard deviation 0.01, and biases with 0.
void initialise_he(torch::nn::Module& net);

}  // namespace fathom::models
