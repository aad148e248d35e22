#include "ops/conv2d.h"

namespace fathom::ops {
namespace {

int64_t output_extent(const Conv2dShape& shape, std::size_t axis) {
  const int64_t reach = shape.dilation[axis] * (shape.kernel[axis] - 1) + 1;
  return (shape.image[axis] + 2 * shape.padding[axis] - reach) / shape.stride[axis] + 1;
}

/// Pairs of output position and tap along one axis whose tap lies inside the image.
int64_t inside_taps(const Conv2dShape& shape, std::size_t axis) {
  int64_t taps = 0;
  for (int64_t out = 0; out < output_extent(shape, axis); ++out) {
    for (int64_t tap = 0; tap < shape.kernel[axis]; ++tap) {
      const int64_t in =
          out * shape.stride[axis] - shape.padding[axis] + tap * shape.dilation[axis];
      taps += in >= 0 && in < shape.image[axis] ? 1 : 0;
    }
  }
  return taps;
}

/// Products of one tap position: every image and every connected pair of channels.
double channel_products(const Conv2dShape& shape) {
  return static_cast<double>(shape.batch * shape.out_channels * shape.in_channels) /
         static_cast<double>(shape.groups);
}

}  // namespace

double conv2d_flops(const Conv2dShape& shape) {
  return 2 * channel_products(shape) *
         static_cast<double>(inside_taps(shape, 0) * inside_taps(shape, 1));
}

double conv2d_macs(const Conv2dShape& shape) {
  const int64_t outputs = output_extent(shape, 0) * output_extent(shape, 1);
  return channel_products(shape) * static_cast<double>(outputs * shape.kernel[0] * shape.kernel[1]);
}

}  // namespace fathom::ops
