#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/tbd/boxes.h"

namespace fathom::models {

// What Faster R-CNN's two networks learn from the objects of an image, as in torchvision.

inline constexpr BoxWeights kAnchorWeights{1, 1};   ///< of differences from an anchor
inline constexpr BoxWeights kRegionWeights{10, 5};  ///< of differences from a region

/// The objects of one image.
struct Objects {
  at::Tensor boxes;    ///< [M, 4]
  at::Tensor classes;  ///< [M], int64, from 1
};

/// The smooth L1 loss of differences [F, 4], summed, for each of `samples`.
at::Tensor box_loss(const at::Tensor& found, const at::Tensor& wanted, int64_t samples);

/// The loss of `count` anchors of one image, drawn at random: at most half of them on objects. All
/// A anchors have scores [A] and differences [A, 4].
at::Tensor proposal_loss(const at::Tensor& scores, const at::Tensor& differences,
                         const at::Tensor& anchors, const at::Tensor& object_boxes, int64_t count);

/// Boxes that the second network classifies. Those on objects come first.
struct SampledRegions {
  at::Tensor boxes;        ///< [R, 4]
  at::Tensor classes;      ///< [R], int64, 0 for the background
  at::Tensor differences;  ///< [F, 4], from the first F boxes to their objects
};

/// `count` of one image's proposals [P, 4] and its objects' own boxes, drawn at random: at most a
/// quarter of them on objects.
SampledRegions sample_regions(const at::Tensor& proposals, const Objects& objects, int64_t count);

}  // namespace fathom::models
