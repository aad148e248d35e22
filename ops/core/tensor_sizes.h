#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "ops/core/fields.h"

namespace fathom::ops {

/// Elements of a tensor, as floating point: products of mistyped extents must not wrap around.
double elements(at::IntArrayRef sizes);

/// Whether an argument is a tensor that rows can describe: dense, of floating type, not empty.
bool is_plain(const c10::IValue& argument);

/// The extents of a tensor as rows list them: a scalar has [1].
Sizes tensor_sizes(const at::Tensor& tensor);
std::vector<Sizes> tensor_sizes(const std::vector<at::Tensor>& tensors);

}  // namespace fathom::ops
