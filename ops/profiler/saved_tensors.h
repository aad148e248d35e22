#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace fathom::ops {

/// Runs `work` and tells `saved` of every tensor that autograd keeps for a backward pass; one at a
/// time in a process. Exceptions of `work` go through.
void watch_saved_tensors(const std::function<void(const at::Tensor&)>& saved,
                         const std::function<void()>& work);

}  // namespace fathom::ops
