#pragma once

#include "ops/core/op.h"
#include "ops/core/summands.h"

namespace fathom::ops {

/// Largest relative error that rounding explains. It is relative to the element or to the result's
/// root mean square, whichever is larger, because products and exponentials have far tails. The
/// reference reads the same rounded inputs; a bf16 result is itself rounded to 2^-9 of its value,
/// an fp16 result to 2^-12.
double tolerance(fixtures::Precision precision);

/// The type of an op's inputs in a precision.
at::ScalarType scalar_type(fixtures::Precision precision);

/// `tensors` on `device`. Those of floating type are converted to `type`; indices keep theirs.
Tensors converted(const Tensors& tensors, at::ScalarType type, at::Device device);

/// Deep copies.
Tensors cloned(const Tensors& tensors);

/// The root mean square of `found` - `exact`, relative to that of `exact`.
double relative_distance(const at::Tensor& found, const at::Tensor& exact);

/// Throws std::runtime_error where an output's shape is not the expected one, or where an element's
/// error is larger than rounding to `precision` explains. Errors are relative to the element or to
/// the output's root mean square, whichever is larger. `tolerance_factor` multiplies the limit for
/// ops that round several times. Where that is not enough, errors may be relative to `summands`.
/// Messages number the outputs from `first`.
void expect_close(const Tensors& found, const Tensors& expected, fixtures::Precision precision,
                  double tolerance_factor = 1, std::size_t first = 0, Summands* summands = nullptr);

/// Throws std::runtime_error where the root mean square of an output's errors is larger than
/// `share` of the output's, and than rounding of `summands` explains. The shapes must be equal.
void expect_small_error(const Tensors& found, const Tensors& expected,
                        fixtures::Precision precision, double share, Summands* summands);

}  // namespace fathom::ops
