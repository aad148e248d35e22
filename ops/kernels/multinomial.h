#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// Draws a class from each row of probabilities [N, C], which need not sum to 1: int64 [N, 1].
/// Calls at::multinomial on the CPU. On a GPU that waits for checks of its input; there this draws
/// in the same way without them.
at::Tensor multinomial(const at::Tensor& probabilities);

}  // namespace fathom::ops
