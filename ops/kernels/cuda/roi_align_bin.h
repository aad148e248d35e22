#pragma once

#include <cstdint>

#include "ops/kernels/detection/roi_align_rule.h"

namespace fathom::ops {

// The work of one GPU thread: one bin of one channel of a region. Neighbouring threads have
// neighbouring bins. Written without CUDA, so that a CPU test runs the same arithmetic.

/// Contiguous features [images, channels, rows, columns] and regions [regions, 5].
struct RoiAlignShape {
  RoiAlignOptions align;
  int64_t images, channels, rows, columns, regions;
};

FATHOM_HOST_DEVICE constexpr int64_t bin_count(const RoiAlignShape& shape) {
  return shape.regions * shape.channels * shape.align.height * shape.align.width;
}

/// Calls visit(offset in the features, weight) for each pixel that bin number `index` reads. A
/// region of no image has none.
template <typename T, typename Visit>
FATHOM_HOST_DEVICE inline void each_pixel(const RoiAlignShape& shape, const T* regions,
                                          int64_t index, Visit visit) {
  const RoiAlignOptions& align = shape.align;
  const int64_t column = index % align.width;
  const int64_t row = index / align.width % align.height;
  const int64_t plane = index / align.width / align.height;
  const T* region = regions + plane / shape.channels * 5;
  if (!(region[0] >= 0 && region[0] < static_cast<T>(shape.images))) return;
  const int64_t image = static_cast<int64_t>(region[0]);
  const int64_t first =
      (image * shape.channels + plane % shape.channels) * shape.rows * shape.columns;
  const RegionAxis<T> xs(region[1], region[3], align.scale, align.width);
  const RegionAxis<T> ys(region[2], region[4], align.scale, align.height);
  const T share = 1 / static_cast<T>(align.samples * align.samples);
  for (int64_t i = 0; i < align.samples; ++i) {
    const auto y = interpolation(ys.position(row, i, align.samples), shape.rows);
    if (y.low_weight + y.high_weight == 0) continue;  // outside
    const int64_t low_row = first + y.low * shape.columns;
    const int64_t high_row = first + y.high * shape.columns;
    for (int64_t j = 0; j < align.samples; ++j) {
      const auto x = interpolation(xs.position(column, j, align.samples), shape.columns);
      if (x.low_weight + x.high_weight == 0) continue;
      visit(low_row + x.low, share * y.low_weight * x.low_weight);
      visit(low_row + x.high, share * y.low_weight * x.high_weight);
      visit(high_row + x.low, share * y.high_weight * x.low_weight);
      visit(high_row + x.high, share * y.high_weight * x.high_weight);
    }
  }
}

/// Writes bin number `index` of y.
template <typename S, typename T>
FATHOM_HOST_DEVICE inline void align_bin(const RoiAlignShape& shape, const S* features,
                                         const T* regions, int64_t index, S* y) {
  T sum = 0;
  each_pixel(shape, regions, index,
             [&](int64_t pixel, T weight) { sum += weight * static_cast<T>(features[pixel]); });
  y[index] = static_cast<S>(sum);
}

/// Calls add(offset in the features, summand) for the gradient of bin number `index`.
template <typename S, typename T, typename Add>
FATHOM_HOST_DEVICE inline void align_bin_backward(const RoiAlignShape& shape, const S* g,
                                                  const T* regions, int64_t index, Add add) {
  const T gradient = static_cast<T>(g[index]);
  each_pixel(shape, regions, index,
             [&](int64_t pixel, T weight) { add(pixel, weight * gradient); });
}

}  // namespace fathom::ops
