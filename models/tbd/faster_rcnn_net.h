#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <array>
#include <cstdint>

#include "models/tbd/bottleneck.h"

namespace fathom::models {

struct FasterRcnnWidths {
  int64_t stem;                 ///< channels of the first convolution
  std::array<Stage, 4> stages;  ///< the last one looks at regions
  int64_t proposals;            ///< channels of the proposal network's 3 x 3 convolution
  int64_t anchors;              ///< at each place of the feature map
  int64_t classes;              ///< with the background
  int64_t region_side;          ///< of regions cut out of the feature map, before the last stage
};

/// The networks of Faster R-CNN on a ResNet of four stages ("C4"). The normalisation of the ResNet
/// is frozen: a constant scale and shift for each channel. The first convolution and stage are not
/// trained.
class FasterRcnnNetImpl : public torch::nn::Cloneable<FasterRcnnNetImpl> {
 public:
  static constexpr int64_t kStride = 16;  ///< pixels of an image for one of the feature map

  explicit FasterRcnnNetImpl(const FasterRcnnWidths& widths) : widths_(widths) {
    FasterRcnnNetImpl::reset();
  }
  void reset() override;

  /// Images [N, 3, H, W] to features [N, C, H / 16, W / 16].
  at::Tensor features(const at::Tensor& images) { return trunk_->forward(images); }

  struct Proposals {
    at::Tensor scores;       ///< [N, A], that an anchor is on an object, as a logit
    at::Tensor differences;  ///< [N, A, 4], from the anchor to the object
  };
  /// For all A anchors of features, place by place, row by row.
  Proposals propose(const at::Tensor& features);

  struct Classified {
    at::Tensor logits;       ///< [R, classes]
    at::Tensor differences;  ///< [R, classes, 4], from the region to an object of the class
  };
  /// Regions [R, 5] = {image, x1, y1, x2, y2} in pixels of the images.
  Classified classify(const at::Tensor& features, const at::Tensor& regions);

 private:
  FasterRcnnWidths widths_;
  torch::nn::Sequential trunk_;
  torch::nn::Conv2d window_{nullptr};
  torch::nn::Conv2d objectness_{nullptr};
  torch::nn::Conv2d anchor_differences_{nullptr};
  torch::nn::Sequential last_stage_;
  torch::nn::Linear logits_{nullptr};
  torch::nn::Linear region_differences_{nullptr};
};
TORCH_MODULE(FasterRcnnNet);

}  // namespace fathom::models
