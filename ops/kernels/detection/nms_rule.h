#pragma once

#include <cstdint>

#include "ops/kernels/cuda/host_device.h"

namespace fathom::ops {

/// A box from (x1, y1) to (x2, y2).
template <typename T>
struct Box {
  T x1, y1, x2, y2;

  FATHOM_HOST_DEVICE T area() const { return (x2 - x1) * (y2 - y1); }
};

/// Whether the intersection of two boxes is more than `most` of their union. False for two empty
/// boxes, whose quotient is NaN.
template <typename T>
FATHOM_HOST_DEVICE inline bool overlap_exceeds(const Box<T>& a, const Box<T>& b, T most) {
  const T left = a.x1 > b.x1 ? a.x1 : b.x1;
  const T right = a.x2 < b.x2 ? a.x2 : b.x2;
  const T top = a.y1 > b.y1 ? a.y1 : b.y1;
  const T bottom = a.y2 < b.y2 ? a.y2 : b.y2;
  const T width = right > left ? right - left : 0;
  const T height = bottom > top ? bottom - top : 0;
  const T common = width * height;
  return common / (a.area() + b.area() - common) > most;
}

}  // namespace fathom::ops
