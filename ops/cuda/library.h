#pragma once

namespace fathom::ops {

/// What identifies a GPU and its software; versions as CUDA counts them (13000 is 13.0).
struct CudaDevice {
  char name[256];
  double memory_bytes;
  int driver;
  int runtime;
};

/// What libfathom_cuda.so does for a program that links no CUDA library itself. All of it is about
/// device 0, waits for it, and returns zeros where CUDA reports an error.
struct CudaLibrary {
  CudaDevice (*device)();
  double (*multiply_add_flops)();  ///< fp32 multiply-adds from registers on all of it, FLOP/s
  double (*copy_bytes)();  ///< device-to-device copy beyond the L2 cache, read and written bytes/s
};

/// Null until fixtures::absence(Device::kCuda) has opened the library.
const CudaLibrary* cuda_library();

}  // namespace fathom::ops

/// The library's one exported symbol.
extern "C" const fathom::ops::CudaLibrary* fathom_cuda_library();
