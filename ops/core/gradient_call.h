#pragma once

#include <functional>

#include "ops/core/op.h"

namespace fathom::ops {

/// A call of autograd's backward pass: the gradients of Σ outputs_i · gradients_i to every leaf of
/// floating type, in their order, for outputs = forward(leaves), which is run once, here.
Call gradient_call(const std::function<Tensors(const Tensors&)>& forward, const Tensors& leaves,
                   const Tensors& gradients);

}  // namespace fathom::ops
