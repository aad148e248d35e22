#pragma once

#include "ops/backends/kernel_set.h"

namespace fathom::ops {

/// oneDNN, called directly, for the operators of the CPU that take most of the steps' time: matrix
/// products, convolutions, pooling, batch normalization and softmax, with their gradients where
/// those are operators of their own. Tensors keep LibTorch's layouts: each call reorders what its
/// primitive wants otherwise. Where oneDNN has no primitive for a call, as for other types,
/// LibTorch's kernel runs. Empty in a build without oneDNN.
KernelSet onednn_kernels();

}  // namespace fathom::ops
