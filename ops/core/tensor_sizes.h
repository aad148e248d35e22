#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "ops/core/fields.h"

namespace fathom::ops {

/// The number of elements, in floating point so that mistyped extents do not overflow.
double elements(at::IntArrayRef sizes);

/// Whether an argument is a tensor that rows can describe: dense, of floating type, not empty.
bool is_plain(const c10::IValue& argument);

/// The extents of a tensor as shapes files list them; [1] for a scalar.
Sizes tensor_sizes(const at::Tensor& tensor);
std::vector<Sizes> tensor_sizes(const std::vector<at::Tensor>& tensors);

/// The extents that a tensor has in memory: 1 along expanded dimensions.
Sizes spanned_sizes(const at::Tensor& tensor);

}  // namespace fathom::ops
