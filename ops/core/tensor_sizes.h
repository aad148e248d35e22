#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <vector>

namespace fathom::ops {

/// Elements of a tensor, as floating point: products of mistyped extents must not wrap around.
double elements(at::IntArrayRef sizes);

/// Whether an argument is a tensor that rows can describe: dense, of floating type, not empty.
bool is_plain(const c10::IValue& argument);

/// A seen tensor's extents as rows list them: a scalar has [1].
std::vector<int64_t> extents(const at::Tensor& tensor);
std::vector<std::vector<int64_t>> extents(const std::vector<at::Tensor>& tensors);

}  // namespace fathom::ops
