#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace fathom::ops {

/// y_c = x_c / (bias + alpha / size · Σ x_j²)^beta over the `size` channels j around c: LibTorch's
/// convention, in which alpha is shared out. Krizhevsky, Sutskever and Hinton 2012, section 3.3.
struct LocalResponseNorm {
  int64_t size;  ///< odd
  double alpha;
  double beta;
  double bias;
};

/// Our own kernel with its gradient on the CPU (LibTorch composes a padded 3-d pooling and a
/// power), LibTorch's composite elsewhere. `x` is [N, C, H, W] in float, double or bfloat16, of
/// which the latter is summed in float. Throws c10::Error for an even size.
at::Tensor local_response_norm(const at::Tensor& x, const LocalResponseNorm& norm);

}  // namespace fathom::ops
