#include "models/tbd/faster_rcnn_net.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/pooling.h>

#include <utility>

#include "ops/kernels/detection/roi_align.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

/// Random weights with the identity as normalisation would double the variance in each block.
constexpr double kLastScale = 0.2;  ///< of the last normalisation of a block

/// A convolution without bias and frozen batch normalisation: its scale multiplies the filters, and
/// its shift is the bias. The gradient of the filters passes through the product.
class FrozenConvNormImpl : public nn::Cloneable<FrozenConvNormImpl> {
 public:
  FrozenConvNormImpl(nn::Conv2dOptions convolution, bool relu)
      : options_(convolution.bias(false)), relu_(relu) {
    FrozenConvNormImpl::reset();
  }
  void reset() override {
    conv_ = register_module("conv", nn::Conv2d(options_));
    nn::init::kaiming_normal_(conv_->weight, /*a=*/0, torch::kFanOut, torch::kReLU);
    scale_ = register_buffer("scale", at::ones({options_.out_channels(), 1, 1, 1}));
    shift_ = register_buffer("shift", at::zeros({options_.out_channels()}));
  }
  at::Tensor forward(const at::Tensor& x) {
    const auto& padding = std::get<torch::ExpandingArray<2>>(options_.padding());
    at::Tensor y = at::conv2d(x, conv_->weight * scale_, shift_, *options_.stride(), *padding);
    return relu_ ? y.relu_() : y;
  }

 private:
  nn::Conv2dOptions options_;
  bool relu_;
  nn::Conv2d conv_{nullptr};
  at::Tensor scale_;
  at::Tensor shift_;
};
TORCH_MODULE(FrozenConvNorm);

void initialise(nn::Module& layer, double deviation) {
  for (auto& parameter : layer.named_parameters()) {
    if (parameter.key() == "weight") {
      nn::init::normal_(parameter.value(), 0, deviation);
    } else {
      nn::init::zeros_(parameter.value());
    }
  }
}

void freeze(nn::Module& module) {
  for (auto& parameter : module.parameters()) parameter.requires_grad_(false);
}

/// [N, K x A, H, W] to [N, H x W x A, K], or without the last dimension if K is 1.
at::Tensor by_anchor(const at::Tensor& maps, int64_t values) {
  const at::Tensor places = maps.permute({0, 2, 3, 1});
  return values == 1 ? places.reshape({maps.size(0), -1})
                     : places.reshape({maps.size(0), -1, values});
}

}  // namespace

void FasterRcnnNetImpl::reset() {
  const auto& stages = widths_.stages;
  trunk_ = nn::Sequential();
  trunk_->push_back("stem", FrozenConvNorm(convolution(3, widths_.stem, 7, 2), true));
  trunk_->push_back("pool", nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  int64_t channels = push_stage<FrozenConvNorm>(trunk_, "block1", widths_.stem, stages[0], 1);
  freeze(*trunk_);
  channels = push_stage<FrozenConvNorm>(trunk_, "block2", channels, stages[1], 2);
  channels = push_stage<FrozenConvNorm>(trunk_, "block3", channels, stages[2], 2);
  register_module("trunk", trunk_);

  window_ = register_module("window", nn::Conv2d(convolution(channels, widths_.proposals, 3)));
  objectness_ =
      register_module("objectness", nn::Conv2d(convolution(widths_.proposals, widths_.anchors, 1)));
  anchor_differences_ = register_module(
      "anchor_boxes", nn::Conv2d(convolution(widths_.proposals, 4 * widths_.anchors, 1)));

  last_stage_ = nn::Sequential();
  channels = push_stage<FrozenConvNorm>(last_stage_, "block4", channels, stages[3], 2);
  register_module("head", last_stage_);
  logits_ = register_module("logits", nn::Linear(channels, widths_.classes));
  region_differences_ = register_module("region_boxes", nn::Linear(channels, 4 * widths_.classes));

  initialise(*window_, 0.01);
  initialise(*objectness_, 0.01);
  initialise(*anchor_differences_, 0.01);
  initialise(*logits_, 0.01);
  initialise(*region_differences_, 0.001);
  for (auto& buffer : named_buffers()) {
    if (buffer.key().ends_with("expand.scale")) buffer.value().fill_(kLastScale);
  }
}

FasterRcnnNetImpl::Proposals FasterRcnnNetImpl::propose(const at::Tensor& features) {
  const at::Tensor hidden = at::relu(window_(features));
  return {.scores = by_anchor(objectness_(hidden), 1),
          .differences = by_anchor(anchor_differences_(hidden), 4)};
}

FasterRcnnNetImpl::Classified FasterRcnnNetImpl::classify(const at::Tensor& features,
                                                          const at::Tensor& regions) {
  const at::Tensor cut = ops::roi_align(features, regions,
                                        {.height = widths_.region_side,
                                         .width = widths_.region_side,
                                         .scale = 1.0 / kStride,
                                         .samples = 2});
  const at::Tensor means = last_stage_->forward(cut).mean(c10::IntArrayRef{2, 3});
  return {.logits = logits_(means),
          .differences = region_differences_(means).view({-1, widths_.classes, 4})};
}

}  // namespace fathom::models
