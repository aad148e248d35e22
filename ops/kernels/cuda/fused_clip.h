#pragma once

#include <cmath>
#include <vector>

#include "ops/kernels/cuda/fused_update.h"
#include "ops/kernels/cuda/host_device.h"

namespace fathom::ops {

/// The factor that scales gradients with the sum of squares `squares` to a norm of at most
/// `max_norm`, like torch::nn::utils::clip_grad_norm_; at most 1.
FATHOM_HOST_DEVICE inline double clip_factor(double squares, double max_norm) {
  using std::sqrt;
  const double factor = max_norm / (sqrt(squares) + 1e-6);
  return factor > 1 ? 1 : factor;
}

struct FusedClip {
  double max_norm;
  Element element;
  std::vector<UpdatedTensor> gradients;  ///< only the first list of each is used
  double* squares;                       ///< on the device, initially 0: the sum of the squares
  void* stream;                          ///< cudaStream_t
};

/// Launches two kernels per TensorGroup and does not wait. Blocks add their sums in any order.
/// Returns null, or CUDA's error text where a launch fails.
const char* fused_clip(const FusedClip& call);

}  // namespace fathom::ops
