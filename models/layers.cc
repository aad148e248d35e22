#include "models/layers.h"

#include <ATen/ops/constant_pad_nd.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <utility>

namespace fathom::models {

at::Tensor SamePadImpl::forward(const at::Tensor& x) {
  const int64_t side = x.size(-1);
  const int64_t outputs = (side + stride_ - 1) / stride_;
  const int64_t total = std::max<int64_t>((outputs - 1) * stride_ + kernel_ - side, 0);
  const int64_t before = total / 2;
  const int64_t after = total - before;
  return at::constant_pad_nd(x, {before, after, before, after}, value_);
}

ConvNormImpl::ConvNormImpl(torch::nn::Conv2dOptions convolution, bool relu, double epsilon)
    : options_(convolution.bias(false)), relu_(relu), epsilon_(epsilon) {
  ConvNormImpl::reset();
}

void ConvNormImpl::reset() {
  conv_ = register_module("conv", torch::nn::Conv2d(options_));
  const auto norm = torch::nn::BatchNorm2dOptions(options_.out_channels()).eps(epsilon_);
  norm_ = register_module("bn", torch::nn::BatchNorm2d(norm));
}

at::Tensor ConvNormImpl::forward(const at::Tensor& x) {
  at::Tensor y = norm_(conv_(x));
  return relu_ ? y.relu_() : y;
}

void initialise_convolutions_he(torch::nn::Module& net) {
  const torch::NoGradGuard no_grad;
  for (const auto& module : net.modules(/*include_self=*/false)) {
    if (auto* conv = module->as<torch::nn::Conv2dImpl>()) {
      torch::nn::init::kaiming_normal_(conv->weight, /*a=*/0, torch::kFanOut, torch::kReLU);
      if (conv->bias.defined()) conv->bias.zero_();
    }
  }
}

void initialise_he(torch::nn::Module& net) {
  initialise_convolutions_he(net);
  const torch::NoGradGuard no_grad;
  for (const auto& module : net.modules(/*include_self=*/false)) {
    if (auto* dense = module->as<torch::nn::LinearImpl>()) {
      dense->weight.normal_(0, 0.01);
      if (dense->bias.defined()) dense->bias.zero_();
    }
  }
}

}  // namespace fathom::models
