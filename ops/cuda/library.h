#pragma once

#include "ops/cuda/local_response_norm.h"
#include "ops/cuda/rmsprop.h"

namespace fathom::ops {

/// What identifies a GPU and its software; versions as CUDA counts them (13000 is 13.0).
struct CudaDevice {
  char name[256];
  double memory_bytes;
  double l2_bytes;
  int driver;
  int runtime;
};

/// What libfathom_cuda.so does for a program that links no CUDA library itself.
struct CudaLibrary {
  // About device 0: they wait for it, and return zeros where CUDA reports an error.
  CudaDevice (*device)();
  double (*multiply_add_flops)();  ///< fp32 multiply-adds from registers on all of it, FLOP/s
  double (*copy_bytes)();  ///< device-to-device copy beyond the L2 cache, read and written bytes/s
  // See ops/cuda/local_response_norm.h.
  const char* (*response_norm)(const ResponseNorm& call, const void* x, void* y);
  const char* (*response_norm_backward)(const ResponseNorm& call, const void* x, const void* g,
                                        void* dx);
  // See ops/cuda/rmsprop.h.
  const char* (*rmsprop_update)(const RmsPropUpdate& call, void* p, const void* g,
                                void* mean_square);
};

/// Null until fixtures::absence(Device::kCuda) has opened the library.
const CudaLibrary* cuda_library();

}  // namespace fathom::ops

/// The library's one exported symbol.
extern "C" __attribute__((visibility("default"))) const fathom::ops::CudaLibrary*
fathom_cuda_library();
