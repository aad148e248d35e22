#pragma once

#include <functional>

#include "ops/core/op.h"

namespace fathom::ops {

/// A call of autograd's backward pass. Runs outputs = forward(leaves) once, here. Each call then
/// returns the gradients of Σ outputs_i · gradients_i with respect to every leaf of floating type,
/// in order.
Call gradient_call(const std::function<Tensors(const Tensors&)>& forward, const Tensors& leaves,
                   const Tensors& gradients);

}  // namespace fathom::ops
