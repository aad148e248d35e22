#pragma once

#include <cmath>

#include "ops/core/fields.h"

namespace fathom::ops {

/// The windows of a pooling of images [N, C, H, W].
struct PoolWindows {
  Pair kernel = {};
  Pair stride = {};
  Pair padding = {};
  Pair dilation = {1, 1};
  bool ceil = false;  ///< the last window may end outside the padded image (ceil_mode)

  /// Refuses windows that LibTorch refuses. Call it after all fields are visited.
  void require_fit(Fields& fields, const Sizes& image) const {
    for (const std::size_t axis : {0U, 1U}) {
      fields.require(padding[axis] <= kernel[axis] / 2,
                     "\"padding\" is more than half of the kernel");
      fields.require(dilation[axis] * (kernel[axis] - 1) < image[axis + 2] + 2 * padding[axis],
                     "\"kernel\" is larger than the padded image");
    }
  }

  /// The number of windows along an axis, rounded as in LibTorch.
  int64_t count(const Sizes& image, std::size_t axis) const {
    const int64_t room = image[axis + 2] + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1);
    const int64_t steps = room - 1 + (ceil ? stride[axis] - 1 : 0);
    const int64_t extent = steps / stride[axis] + 1;
    // The last window starts inside the image or its left padding.
    return ceil && (extent - 1) * stride[axis] >= image[axis + 2] + padding[axis] ? extent - 1
                                                                                  : extent;
  }

  Sizes output(const Sizes& image) const {
    return {image[0], image[1], count(image, 0), count(image, 1)};
  }

  /// Whether all windows end inside the padded image.
  bool end_inside(const Sizes& image) const {
    bool inside = true;
    for (const std::size_t axis : {0U, 1U}) {
      const int64_t end =
          (count(image, axis) - 1) * stride[axis] + dilation[axis] * (kernel[axis] - 1) + 1;
      inside = inside && end <= image[axis + 2] + 2 * padding[axis];
    }
    return inside;
  }

  /// The number of windows that share a pixel, at most.
  double overlap() const {
    double shared = 1;
    for (const std::size_t axis : {0U, 1U})
      shared *= std::ceil(static_cast<double>(kernel[axis]) / static_cast<double>(stride[axis]));
    return shared;
  }
};

}  // namespace fathom::ops
