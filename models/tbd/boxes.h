#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

namespace fathom::models {

/// Boxes are rows x1, y1, x2, y2 in pixels, [M, 4].

struct AnchorSizes {
  int64_t stride;              ///< pixels between neighbouring places
  std::vector<double> sides;   ///< of square anchors
  std::vector<double> ratios;  ///< height / width

  int64_t per_place() const { return std::ssize(sides) * std::ssize(ratios); }
};

/// The anchors [height x width x per_place, 4] of a feature map, place by place, row by row. An
/// anchor's area does not depend on its ratio.
at::Tensor anchor_boxes(const AnchorSizes& sizes, int64_t height, int64_t width);

/// Intersection over union of every box of `a` [A, 4] with every box of `b` [B, 4]: [A, B].
at::Tensor overlaps(const at::Tensor& a, const at::Tensor& b);

/// Weights of the differences of centres (x, y) and of the logarithms of sizes (width, height).
using BoxWeights = std::array<double, 2>;

/// The differences [M, 4] that turn `boxes` into `targets` (Girshick et al., "Rich feature
/// hierarchies for accurate object detection", 2014, appendix C).
at::Tensor box_differences(const at::Tensor& boxes, const at::Tensor& targets, BoxWeights weights);

/// Applies differences [M, K, 4] to boxes [M, 4] and clips the results [M, K, 4] to an image of
/// `height` x `width` pixels. Sizes grow at most by a factor of 62.5, as in torchvision.
at::Tensor moved_boxes(const at::Tensor& boxes, const at::Tensor& differences, BoxWeights weights,
                       int64_t height, int64_t width);

}  // namespace fathom::models
