#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ops/kernels/cuda/host_device.h"
#include "ops/kernels/norm_constants.h"

namespace fathom::ops {

// Local response normalization in one GPU thread: it visits some channels of one pixel and keeps
// the window around them in registers. Neighbouring threads have neighbouring pixels, so every load
// and store is coalesced. Elements are read twice only at the margins of a part. Channels are
// divided into parts because one thread per pixel would not fill a GPU in late layers.
// Written without CUDA, so that a CPU test runs the same arithmetic.

inline constexpr int64_t kPartChannels = 32;

/// The shape of a contiguous tensor [images, channels, plane].
struct Planes {
  int64_t images;
  int64_t channels;
  int64_t plane;
};

/// Channels [begin, end) of one pixel. `offset` is the element of its channel 0 in the tensor.
struct Part {
  int64_t offset;
  int64_t begin;
  int64_t end;
};

FATHOM_HOST_DEVICE constexpr int64_t parts_a_pixel(const Planes& shape) {
  return (shape.channels + kPartChannels - 1) / kPartChannels;
}

FATHOM_HOST_DEVICE constexpr int64_t part_count(const Planes& shape) {
  return shape.images * shape.plane * parts_a_pixel(shape);
}

/// The pixel varies fastest, then the part, then the image.
FATHOM_HOST_DEVICE inline Part part_at(const Planes& shape, int64_t index) {
  const int64_t row = index / shape.plane;
  const int64_t image = row / parts_a_pixel(shape);
  const int64_t begin = (row - image * parts_a_pixel(shape)) * kPartChannels;
  const int64_t end = begin + kPartChannels;
  return {.offset = image * shape.channels * shape.plane + (index - row * shape.plane),
          .begin = begin,
          .end = end < shape.channels ? end : shape.channels};
}

template <typename Sum>
FATHOM_HOST_DEVICE inline Sum inverse_root(Sum x) {
#ifdef __CUDA_ARCH__
  return rsqrt(x);  // one instruction
#else
  return 1 / std::sqrt(x);
#endif
}

/// Powers of scale = bias + share · Σ x².
template <typename Sum>
struct Scaling {
  Sum inverse;  ///< scale^-1
  Sum factor;   ///< scale^-beta
};

template <int kSize, typename Sum>
FATHOM_HOST_DEVICE inline Scaling<Sum> scaling(const Sum (&window)[kSize],
                                               const NormConstants<Sum>& norm) {
  Sum sum = 0;
  FATHOM_UNROLL
  for (int i = 0; i < kSize; ++i) sum += window[i] * window[i];
  const Sum scale = norm.bias + norm.share * sum;
  if (!norm.three_quarters) return {.inverse = 1 / scale, .factor = std::pow(scale, -norm.beta)};
  const Sum root = inverse_root(scale);
  return {.inverse = root * root, .factor = root * inverse_root(scale * root)};
}

/// Drops the first element and appends `next`.
template <int kSize, typename Sum>
FATHOM_HOST_DEVICE inline void push(Sum (&window)[kSize], Sum next) {
  FATHOM_UNROLL
  for (int i = 0; i + 1 < kSize; ++i) window[i] = window[i + 1];
  window[kSize - 1] = next;
}

/// Loads kCount channels of a pixel from `channel` on, zero outside the tensor. All loads are
/// issued before the first is used, because waiting for each one would leave the memory idle.
template <int kCount, typename T, typename Sum>
FATHOM_HOST_DEVICE inline void load(const T* pixel, const Planes& shape, int64_t channel,
                                    Sum (&values)[kCount]) {
  FATHOM_UNROLL
  for (int i = 0; i < kCount; ++i) {
    const int64_t c = channel + i;
    values[i] = c >= 0 && c < shape.channels ? static_cast<Sum>(pixel[c * shape.plane]) : Sum{0};
  }
}

template <int kSize, typename T, typename Sum>
FATHOM_HOST_DEVICE inline void normalise(const Planes& shape, const Part& part,
                                         const NormConstants<Sum>& norm, const T* __restrict__ x,
                                         T* __restrict__ y) {
  constexpr int64_t kHalf = kSize / 2;
  constexpr int kStep = 8;
  x += part.offset;
  y += part.offset;
  Sum window[kSize];  // x of channels c - kHalf to c + kHalf
  load(x, shape, part.begin - kHalf - 1, window);
  for (int64_t first = part.begin; first < part.end; first += kStep) {
    Sum next[kStep];
    load(x, shape, first + kHalf, next);
    FATHOM_UNROLL
    for (int i = 0; i < kStep; ++i) {
      const int64_t c = first + i;
      push(window, next[i]);
      if (c < part.end) {
        y[c * shape.plane] = static_cast<T>(window[kHalf] * scaling(window, norm).factor);
      }
    }
  }
}

/// dx_i = g_i · factor_i - 2 share beta x_i Σ (g x factor / scale) over i's window. Channel c gives
/// the last summand of channel c - kHalf.
template <int kSize, typename T, typename Sum>
FATHOM_HOST_DEVICE inline void normalise_backward(const Planes& shape, const Part& part,
                                                  const NormConstants<Sum>& norm,
                                                  const T* __restrict__ x, const T* __restrict__ g,
                                                  T* __restrict__ dx) {
  constexpr int64_t kHalf = kSize / 2;
  constexpr int kStep = 4;
  x += part.offset;
  g += part.offset;
  dx += part.offset;
  const Sum twice = 2 * norm.share * norm.beta;
  Sum window[kSize];           // x of channels c - kHalf to c + kHalf
  Sum summands[kSize] = {};    // of channels c - 2 kHalf to c
  Sum direct[kHalf + 1] = {};  // g · factor of channels c - kHalf to c
  load(x, shape, part.begin - 2 * kHalf - 1, window);
  for (int64_t first = part.begin - kHalf; first < part.end + kHalf; first += kStep) {
    Sum next[kStep];
    Sum gradient[kStep];
    load(x, shape, first + kHalf, next);
    load(g, shape, first, gradient);
    FATHOM_UNROLL
    for (int i = 0; i < kStep; ++i) {
      const int64_t c = first + i;
      push(window, next[i]);
      const Scaling<Sum> at = scaling(window, norm);
      const bool inside = c >= 0 && c < shape.channels;
      push(direct, gradient[i] * at.factor);
      push(summands, inside ? direct[kHalf] * window[kHalf] * at.inverse : Sum{0});
      if (c < part.begin + kHalf || c >= part.end + kHalf) continue;
      Sum sum = 0;
      FATHOM_UNROLL
      for (int j = 0; j < kSize; ++j) sum += summands[j];
      dx[(c - kHalf) * shape.plane] = static_cast<T>(direct[0] - twice * window[0] * sum);
    }
  }
}

/// Whether a window has a kernel.
constexpr bool has_window(int64_t size) { return size == 3 || size == 5 || size == 7 || size == 9; }

/// Calls visit(std::integral_constant<int, size>) for a window that has a kernel.
template <typename Visit>
void with_window(int64_t size, Visit visit) {
  if (size == 3) visit(std::integral_constant<int, 3>{});
  if (size == 5) visit(std::integral_constant<int, 5>{});
  if (size == 7) visit(std::integral_constant<int, 7>{});
  if (size == 9) visit(std::integral_constant<int, 9>{});
}

}  // namespace fathom::ops
