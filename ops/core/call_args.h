#pragma once

#include <c10/util/accumulate.h>

#include <array>
#include <vector>

#include "ops/core/op.h"
#include "ops/types/convolution/conv2d.h"

namespace fathom::ops {

/// An optional argument that was given.
inline bool given(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined();
}

/// {height, width} of an argument that may hold one number for both.
inline std::array<int64_t, 2> seen_pair(const c10::IValue& value) {
  const auto values = value.toIntVector();
  return {values.front(), values.back()};
}

/// As `seen_pair`; `fallback` for an empty list.
inline std::array<int64_t, 2> seen_pair(const c10::IValue& value,
                                        const std::array<int64_t, 2>& fallback) {
  return value.toIntVector().empty() ? fallback : seen_pair(value);
}

/// The shape of a convolution: image and weight stand at `first`; stride, padding and dilation from
/// `options` on.
inline Conv2dShape seen_conv2d(c10::ArrayRef<const c10::IValue> arguments, std::size_t first,
                               std::size_t options, std::size_t groups) {
  const at::Tensor& image = arguments[first].toTensor();
  const at::Tensor& weight = arguments[first + 1].toTensor();
  return {.batch = image.size(0),
          .in_channels = image.size(1),
          .out_channels = weight.size(0),
          .groups = arguments[groups].toInt(),
          .image = {image.size(2), image.size(3)},
          .kernel = {weight.size(2), weight.size(3)},
          .stride = seen_pair(arguments[options]),
          .padding = seen_pair(arguments[options + 1]),
          .dilation = seen_pair(arguments[options + 2])};
}

/// `sizes` as [outer, extent, inner] around `axis`, which kernels over one axis see of a contiguous
/// tensor; without `inner` for the last axis. An axis counts from the end where it is negative.
inline std::vector<int64_t> around(at::IntArrayRef sizes, int64_t axis) {
  if (axis < 0) axis += static_cast<int64_t>(sizes.size());
  const auto at = static_cast<std::size_t>(axis);
  std::vector<int64_t> made{c10::multiply_integers(sizes.slice(0, at)), sizes[at]};
  if (at + 1 < sizes.size()) made.push_back(c10::multiply_integers(sizes.slice(at + 1)));
  return made;
}

/// Fields stay short: what is as usual is left out.
template <typename Value>
void put_unless(nlohmann::ordered_json& fields, const char* name, const Value& value,
                const Value& usual) {
  if (value != usual) fields[name] = value;
}

}  // namespace fathom::ops
