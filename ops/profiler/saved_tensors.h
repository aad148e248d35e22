#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace fathom::ops {

/// Runs `work` and calls `saved` with every tensor that autograd saves for a backward pass. Only
/// one call can run at a time in a process. Exceptions of `work` propagate.
void visit_saved_tensors(const std::function<void(const at::Tensor&)>& saved,
                         const std::function<void()>& work);

}  // namespace fathom::ops
