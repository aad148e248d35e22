#pragma once

#include <ATen/core/Tensor.h>

#include "ops/core/fields.h"

namespace fathom::ops {

struct ConvolutionOptions {
  Pair stride{1, 1};
  Pair padding{0, 0};
  Pair dilation{1, 1};
  int64_t groups = 1;
};

/// at::conv2d() of `x` [N, C, H, W], `weight` [K, C / groups, R, S] and `bias` [K] or undefined,
/// with other gradients of its gradients. LibTorch forms them as convolutions whose kernel is a map
/// of the image's size; here they are the usual passes of the same convolution. Third derivatives
/// throw c10::Error.
at::Tensor twice_differentiable_conv2d(const at::Tensor& x, const at::Tensor& weight,
                                       const at::Tensor& bias, const ConvolutionOptions& options);

struct ConvolutionDoubleGradients {
  at::Tensor g;
  at::Tensor weight;
};

/// The double backward pass of the data's gradient dx, which is a function of `g` [N, K, P, Q], the
/// gradient of the output, and of `weight`: their gradients from `ddx` [N, C, H, W], that of dx.
ConvolutionDoubleGradients convolution_double_backward(const at::Tensor& ddx, const at::Tensor& g,
                                                       const at::Tensor& weight,
                                                       const ConvolutionOptions& options);

}  // namespace fathom::ops
