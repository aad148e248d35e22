#pragma once

#include "ops/core/element.h"
#include "ops/kernels/cuda/response_window.h"
#include "ops/kernels/norm_constants.h"

namespace fathom::ops {

/// Local response normalization of contiguous tensors on the current device.
struct ResponseNorm {
  LocalResponseNormOptions norm;
  Element element;
  Planes shape;
  void* stream;  ///< cudaStream_t
};

/// Launch a kernel and do not wait. Return null, or CUDA's error text where the launch fails.
const char* response_norm(const ResponseNorm& call, const void* x, void* y);
const char* response_norm_backward(const ResponseNorm& call, const void* x, const void* g,
                                   void* dx);

}  // namespace fathom::ops
