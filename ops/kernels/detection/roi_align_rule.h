#pragma once

#include <cstdint>

#include "ops/kernels/cuda/host_device.h"

namespace fathom::ops {

// Region-of-interest alignment (He et al. 2017, section 3), in the form before torchvision's
// "aligned": a pixel's value is at its integer coordinates. Plain C++, shared by the CPU and CUDA.

/// Splits each region into height x width bins, and averages samples x samples points of each.
struct RoiAlignOptions {
  int64_t height;
  int64_t width;
  double scale;     ///< pixels of the features per unit of the regions' coordinates
  int64_t samples;  ///< along each axis of a bin
};

/// A linear interpolation between two pixels of an axis. Both weights are 0 for a sample outside.
template <typename T>
struct Interpolation {
  int64_t low, high;
  T low_weight, high_weight;
};

/// A position up to one pixel outside the axis has the value of the edge. NaN is outside.
template <typename T>
FATHOM_HOST_DEVICE inline Interpolation<T> interpolation(T position, int64_t extent) {
  if (!(position >= -1 && position <= static_cast<T>(extent))) return {0, 0, 0, 0};
  const auto low = static_cast<int64_t>(position);  // rounds (-1, 0) to 0
  if (low >= extent - 1) return {extent - 1, extent - 1, 1, 0};
  const T high_weight = position > 0 ? position - static_cast<T>(low) : 0;
  return {low, low + 1, 1 - high_weight, high_weight};
}

/// One axis of a region, in pixels of the features. A region is at least one pixel long.
template <typename T>
struct RegionAxis {
  T start;
  T bin;  ///< length of a bin

  FATHOM_HOST_DEVICE RegionAxis(T first, T last, double scale, int64_t bins) {
    start = first * static_cast<T>(scale);
    const T length = last * static_cast<T>(scale) - start;
    bin = (length > 1 ? length : T{1}) / static_cast<T>(bins);
  }

  FATHOM_HOST_DEVICE T position(int64_t bin_index, int64_t sample, int64_t samples) const {
    return start + static_cast<T>(bin_index) * bin +
           (static_cast<T>(sample) + T(0.5)) * bin / static_cast<T>(samples);
  }
};

}  // namespace fathom::ops
