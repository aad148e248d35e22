#pragma once

#include <array>
#include <cstdint>

namespace fathom::ops {

/// A convolution of [batch, in_channels, H, W] with [out_channels, in_channels / groups, R, S];
/// pairs are {height, width}.
struct Conv2dShape {
  int64_t batch;
  int64_t in_channels;
  int64_t out_channels;
  int64_t groups;
  std::array<int64_t, 2> image;
  std::array<int64_t, 2> kernel;
  std::array<int64_t, 2> stride;
  std::array<int64_t, 2> padding;
  std::array<int64_t, 2> dilation;
};

/// {height, width}.
std::array<int64_t, 2> conv2d_output(const Conv2dShape& shape);

/// FLOPs of one forward, dgrad or wgrad: taps that fall on padding don't count (benchdnn's rule).
double conv2d_flops(const Conv2dShape& shape);

/// Multiply-accumulates of one forward with padding counted, the papers' convention.
double conv2d_macs(const Conv2dShape& shape);

}  // namespace fathom::ops
