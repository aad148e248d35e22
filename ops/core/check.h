#pragma once

#include "ops/core/op.h"

namespace fathom::ops {

/// `tensors` with those of floating type in another type or on another device; indices only move.
Tensors converted(const Tensors& tensors, at::ScalarType type, at::Device device);

/// Tensors of their own with the same contents.
Tensors cloned(const Tensors& tensors);

/// Throws std::runtime_error where an output's shape is not the expected one or where an element is
/// off by more than rounding to `precision` explains, as a share of itself or of the output's root
/// mean square, whichever is larger. `tolerance_factor` times as much where an op rounds many
/// times. Errors count the outputs from `first`.
void expect_close(const Tensors& found, const Tensors& expected, fixtures::Precision precision,
                  double tolerance_factor = 1, std::size_t first = 0);

}  // namespace fathom::ops
