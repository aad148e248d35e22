#pragma once

#include "ops/core/element.h"
#include "ops/kernels/cuda/response_window.h"
#include "ops/kernels/norm_constants.h"

namespace fathom::ops {

/// A local response normalisation of contiguous tensors on the current device.
struct ResponseNorm {
  LocalResponseNorm norm;
  Element element;
  Planes shape;
  void* stream;  ///< cudaStream_t
};

/// Start the kernels and do not wait for them. Null, or CUDA's words where they don't start.
const char* response_norm(const ResponseNorm& call, const void* x, void* y);
const char* response_norm_backward(const ResponseNorm& call, const void* x, const void* g,
                                   void* dx);

}  // namespace fathom::ops
