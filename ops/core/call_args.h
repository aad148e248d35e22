#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/accumulate.h>

#include "ops/core/fields.h"
#include "ops/core/pool_windows.h"

namespace fathom::ops {

/// Whether an optional tensor argument was given.
inline bool given(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined();
}

/// {height, width} of an argument that holds two numbers, or one for both.
inline Pair pair_argument(const c10::IValue& value) {
  const auto values = value.toIntVector();
  return {values.front(), values.back()};
}

/// The same, but `fallback` for an empty list.
inline Pair pair_argument(const c10::IValue& value, const Pair& fallback) {
  return value.toIntVector().empty() ? fallback : pair_argument(value);
}

/// The windows of a pooling, whose kernel, stride, padding, dilation (only where `dilated`) and
/// ceil_mode begin at in[first].
template <typename Arguments>
PoolWindows windows_argument(const Arguments& in, std::size_t first, bool dilated) {
  const Pair kernel = pair_argument(in[first]);
  return {.kernel = kernel,
          .stride = pair_argument(in[first + 1], kernel),
          .padding = pair_argument(in[first + 2]),
          .dilation = dilated ? pair_argument(in[first + 3]) : Pair{1, 1},
          .ceil = in[first + (dilated ? 4 : 3)].toBool()};
}

/// Merges the dimensions before and after `axis`: [outer, extent, inner], or [outer, extent] for
/// the last axis. A negative axis counts from the end.
inline Sizes around(at::IntArrayRef sizes, int64_t axis) {
  if (axis < 0) axis += static_cast<int64_t>(sizes.size());
  const auto at = static_cast<std::size_t>(axis);
  Sizes made{c10::multiply_integers(sizes.slice(0, at)), sizes[at]};
  if (at + 1 < sizes.size()) made.push_back(c10::multiply_integers(sizes.slice(at + 1)));
  return made;
}

}  // namespace fathom::ops
