#include "ops/types/convolution/conv2d_shape.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

/// The sum of floor((a · i + b) / m) over 0 <= i < n, modulo 2^64, by Euclid's algorithm.
uint64_t sum_of_quotients(uint64_t n, uint64_t a, uint64_t b, uint64_t m) {
  uint64_t sum = 0;
  for (;;) {
    const uint64_t pairs = n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
    sum += pairs * (a / m) + n * (b / m);
    const uint64_t end = a % m * n + b % m;
    if (end < m) return sum;
    // The rest counts the points below a line, which are summed by rows instead of columns.
    n = end / m;
    b = end % m;
    m = std::exchange(a, m) % m;
  }
}

}  // namespace

void Conv2dShape::visit(Fields& fields) {
  fields.extent("n", batch);
  fields.extent("c", in_channels);
  fields.extent("k", out_channels);
  fields.pair("image", image, 1);
  fields.pair("kernel", kernel, 1);
  fields.pair("stride", stride, 1, {1, 1});
  fields.pair("padding", padding, 0, {0, 0});
  fields.pair("dilation", dilation, 1, {1, 1});
  fields.extent("groups", groups, 1);
  fields.require(in_channels % groups == 0 && out_channels % groups == 0,
                 "\"groups\" is " + std::to_string(groups) + ", expected a divisor of c and k");
  for (const std::size_t axis : {0U, 1U}) {
    const int64_t reach = dilation[axis] * (kernel[axis] - 1) + 1;
    fields.require(reach <= image[axis] + 2 * padding[axis],
                   "\"kernel\" is larger than the padded image");
  }
  fields.flag("bias", bias);
}

int64_t Conv2dShape::output_extent(std::size_t axis) const {
  const int64_t reach = dilation[axis] * (kernel[axis] - 1) + 1;
  return (image[axis] + 2 * padding[axis] - reach) / stride[axis] + 1;
}

/// The number of pairs of an output position and a tap before `place` of the padded image, along
/// one axis, modulo 2^64. It looks at no tap by itself, because a mistyped kernel has too many.
uint64_t Conv2dShape::taps_before(std::size_t axis, int64_t place) const {
  const int64_t step = stride[axis];
  const int64_t gap = dilation[axis];
  const int64_t outputs = output_extent(axis);
  // The number of taps that lie before `place` in at least `count` output positions.
  const auto taps_of = [&](int64_t count) {
    const int64_t room = place - (count - 1) * step;
    return room < 1 ? 0 : std::min((room - 1) / gap + 1, kernel[axis]);
  };
  const int64_t of_all = taps_of(outputs);
  const int64_t of_some = taps_of(1);
  // Tap t lies there in ceil((place - t · dilation) / stride) of them. Counts from the last tap on.
  const int64_t last = place - (of_some - 1) * gap;
  const auto rest = static_cast<uint64_t>(of_some - of_all);
  return static_cast<uint64_t>(of_all) * static_cast<uint64_t>(outputs) +
         sum_of_quotients(rest, static_cast<uint64_t>(gap), static_cast<uint64_t>(last + step - 1),
                          static_cast<uint64_t>(step));
}

/// The number of pairs of an output position and a tap inside the image, along one axis.
double Conv2dShape::inside_taps(std::size_t axis) const {
  const int64_t begin = padding[axis];
  const int64_t end = begin + image[axis];
  return static_cast<double>(taps_before(axis, end) - taps_before(axis, begin));
}

/// Multiply-adds per tap position: one for each image and each connected pair of channels.
double Conv2dShape::channel_macs() const {
  return elements({batch, out_channels, in_channels}) / static_cast<double>(groups);
}

double Conv2dShape::flops() const { return 2 * channel_macs() * inside_taps(0) * inside_taps(1); }

double Conv2dShape::macs() const {
  return channel_macs() * elements({output_extent(0), output_extent(1), kernel[0], kernel[1]});
}

}  // namespace fathom::ops
