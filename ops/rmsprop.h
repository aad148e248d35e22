#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace fathom::ops {

/// RMSProp in TensorFlow's form: mean_square <- decay · mean_square + (1 - decay) · g², then
/// p <- p - rate · g / sqrt(mean_square + epsilon). TensorFlow starts mean_square at 1; LibTorch
/// starts it at 0 and adds epsilon outside the root.
struct RmsProp {
  double rate;
  double decay;
  double epsilon;
};

/// One update of all parameters in place, each in a single pass over its memory. The lists hold
/// tensors of the same sizes, contiguous and float (or double); on the CPU our own kernel,
/// LibTorch's operations elsewhere. Throws c10::Error for others.
void rmsprop(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& gradients,
             const std::vector<at::Tensor>& mean_squares, const RmsProp& options);

}  // namespace fathom::ops
