#pragma once

#include <cmath>
#include <vector>

#include "ops/kernels/cuda/fused_update.h"
#include "ops/kernels/cuda/host_device.h"

namespace fathom::ops {

/// What brings gradients whose squares sum to `squares` down to a norm of `largest`, as
/// torch::nn::utils::clip_grad_norm_ has it; 1 where they are within.
FATHOM_HOST_DEVICE inline double clip_factor(double squares, double largest) {
  using std::sqrt;
  const double factor = largest / (sqrt(squares) + 1e-6);
  return factor > 1 ? 1 : factor;
}

struct FusedClip {
  double largest;
  Element element;
  std::vector<UpdatedTensor> gradients;  ///< the first of their lists
  double* squares;                       ///< on the device, 0: room for their sum
  void* stream;                          ///< cudaStream_t
};

/// Starts the kernels, two for many tensors, and does not wait for them; blocks add up in any
/// order. Null, or CUDA's words where they do not start.
const char* fused_clip(const FusedClip& call);

}  // namespace fathom::ops
