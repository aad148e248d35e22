#pragma once

#include "ops/core/backend.h"
#include "ops/core/kernel.h"
#include "ops/core/problem.h"
#include "ops/kernels/cuda/fused_clip.h"
#include "ops/kernels/cuda/fused_update.h"
#include "ops/kernels/cuda/local_response_norm.h"
#include "ops/kernels/cuda/lstm_gates.h"

namespace fathom::ops {

/// What identifies a GPU and its software; versions as CUDA counts them (13000 is 13.0, of cuBLAS
/// 130100 is 13.1.0).
struct CudaDevice {
  char name[256];
  double memory_bytes;
  double l2_bytes;
  int driver;
  int runtime;
  int cublas;
};

/// A problem for cuBLAS or cuDNN, over memory of the current device.
struct VendorCall {
  Backend backend;
  const Problem& problem;
  bool tf32;     ///< whether factors of fp32 products may be rounded to TF32
  void* stream;  ///< cudaStream_t on which it runs
};

/// The caller's to delete. Throws std::runtime_error, with the library's words, where it has no
/// way; program and library are of one compiler, so that this passes between them.
Kernel* make_vendor_kernel(const VendorCall& call);

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
  // See ops/cuda/lstm_gates.h.
  const char* (*lstm_gates)(const LstmGatesCall& call, const LstmGatesForward<void>& at);
  const char* (*lstm_gates_backward)(const LstmGatesCall& call, const LstmGatesBackward<void>& at);
  // See ops/cuda/fused_clip.h.
  const char* (*fused_clip)(const FusedClip& call);
  // See ops/cuda/fused_update.h.
  const char* (*fused_update)(const FusedUpdate& call);
  Kernel* (*make_vendor_kernel)(const VendorCall& call);
};

/// Null until fixtures::absence(Device::kCuda) has opened the library.
const CudaLibrary* cuda_library();

}  // namespace fathom::ops

/// The library's one exported symbol.
extern "C" __attribute__((visibility("default"))) const fathom::ops::CudaLibrary*
fathom_cuda_library();
