#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <string>

#include "models/layers.h"

namespace fathom::models {

/// A stage of a residual network: blocks of the same width.
struct Stage {
  int blocks;
  int64_t width;  ///< channels of the 3 x 3 convolutions
};

constexpr int64_t kExpansion = 4;  ///< output channels of a block for each channel of its width

/// Convolutions of 1 x 1, 3 x 3 and 1 x 1 pixels and a shortcut: [N, in, S, S] to
/// [N, 4 width, S / stride, S / stride]. The shortcut has a 1 x 1 convolution where the shape
/// changes. `Unit` is a module of a convolution with normalisation, made from its options and
/// whether a ReLU follows.
template <class Unit>
class BottleneckImpl : public torch::nn::Cloneable<BottleneckImpl<Unit>> {
 public:
  BottleneckImpl(int64_t in, int64_t width, int64_t stride)
      : in_(in), width_(width), stride_(stride) {
    BottleneckImpl::reset();
  }
  void reset() override {
    const int64_t out = kExpansion * width_;
    reduce_ = this->register_module("reduce", Unit(convolution(in_, width_, 1), true));
    middle_ = this->register_module("middle", Unit(convolution(width_, width_, 3, stride_), true));
    expand_ = this->register_module("expand", Unit(convolution(width_, out, 1), false));
    if (in_ == out && stride_ == 1) return;
    shortcut_ = this->register_module("shortcut", Unit(convolution(in_, out, 1, stride_), false));
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor inner = expand_(middle_(reduce_(x)));
    return inner.add_(shortcut_.is_empty() ? x : shortcut_(x)).relu_();
  }

 private:
  int64_t in_;
  int64_t width_;
  int64_t stride_;
  Unit reduce_{nullptr};
  Unit middle_{nullptr};
  Unit expand_{nullptr};
  Unit shortcut_{nullptr};
};

template <class Unit>
class Bottleneck : public torch::nn::ModuleHolder<BottleneckImpl<Unit>> {
 public:
  using torch::nn::ModuleHolder<BottleneckImpl<Unit>>::ModuleHolder;
};

/// Appends the blocks `name`_1, `name`_2, ... of a stage to `layers`, which end with `channels`
/// channels. Returns the new number of channels.
template <class Unit>
int64_t push_stage(torch::nn::Sequential& layers, const std::string& name, int64_t channels,
                   Stage stage, int64_t stride) {
  for (int b = 0; b < stage.blocks; ++b) {
    layers->push_back(name + '_' + std::to_string(b + 1),
                      Bottleneck<Unit>(channels, stage.width, b == 0 ? stride : 1));
    channels = kExpansion * stage.width;
  }
  return channels;
}

}  // namespace fathom::models
