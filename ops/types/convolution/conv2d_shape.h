#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/core/fields.h"

namespace fathom::ops {

/// A convolution of [batch, in_channels, H, W] with [out_channels, in_channels / groups, R, S].
struct Conv2dShape {
  int64_t batch;
  int64_t in_channels;
  int64_t out_channels;
  Pair image;
  Pair kernel;
  Pair stride;
  Pair padding;
  Pair dilation;
  int64_t groups;
  bool bias;

  void visit(Fields& fields);

  std::array<int64_t, 4> input() const { return {batch, in_channels, image[0], image[1]}; }
  std::array<int64_t, 4> weight() const {
    return {out_channels, in_channels / groups, kernel[0], kernel[1]};
  }
  /// {height, width} of the result.
  Pair output() const { return {output_extent(0), output_extent(1)}; }

  /// FLOPs of one pass; taps that fall on padding don't count (benchdnn's rule).
  double flops() const;
  /// Multiply-adds of one pass, padding counted.
  double macs() const;

 private:
  int64_t output_extent(std::size_t axis) const;
  uint64_t taps_before(std::size_t axis, int64_t place) const;
  double inside_taps(std::size_t axis) const;
  double channel_macs() const;
};

}  // namespace fathom::ops
