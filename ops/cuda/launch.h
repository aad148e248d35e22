#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "ops/element.h"

namespace fathom::ops {

/// Calls visit(an element, a number of the type to compute it in), which launches kernels. Null, or
/// CUDA's words where they do not start.
template <typename Visit>
const char* launch(Element element, const Visit& visit) {
  switch (element) {
    case Element::kFp32:
      visit(float{}, float{});
      break;
    case Element::kFp64:
      visit(double{}, double{});
      break;
    case Element::kBf16:
      visit(__nv_bfloat16{}, float{});
      break;
  }
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace fathom::ops
