#pragma once

#include <memory>

#include "ops/core/backend.h"
#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops {

// The calls of the kernels, in ops/kernels/cuda, and of graphs.h.
struct CaptureCall;
struct FusedClip;
struct FusedUpdate;
struct LstmGatesCall;
struct NmsCall;
struct ResponseNorm;
struct RoiAlignCall;
struct ScanCall;
struct SelectiveScanGradients;
struct ScanOutputs;
template <typename S>
struct LstmGatesBackward;
template <typename S>
struct LstmGatesForward;
class CudaGraphs;

/// A GPU and its software. Versions are numbers in CUDA's format: 13000 is 13.0; of cuBLAS 130100
/// is 13.1.0.
struct CudaDevice {
  char name[256];
  char pci_bus_id[16];  ///< such as 0000:3b:00.0
  double memory_bytes;
  double l2_bytes;
  int driver;
  int runtime;
  int cublas;
};

/// Shortest times of kernels over buffers of `bytes` each, in seconds.
struct CudaMemorySeconds {
  double bytes;
  double read;   ///< reads a buffer
  double copy;   ///< reads a buffer, writes another
  double scale;  ///< reads and writes a buffer
  double add;    ///< reads two buffers, writes one of them
};

/// A problem for cuBLAS or cuDNN, over memory of the current device.
struct VendorCall {
  Backend backend;
  const Problem& problem;
  bool tf32;     ///< whether fp32 products may use TF32
  void* stream;  ///< cudaStream_t on which it runs
};

/// The functions of libfathom_cuda.so, for a program that does not link CUDA's libraries. One
/// compiler builds both, so C++ objects and exceptions pass between them. Where CUDA reports an
/// error, functions without an error text throw OutOfMemory or std::runtime_error.
struct CudaLibrary {
  // Of device 0, which they wait for.
  CudaDevice (*device)();
  double (*multiply_add_flops)();  ///< FLOP/s of fp32 multiply-adds in registers, on the whole GPU
  CudaMemorySeconds (*memory_seconds)();  ///< of buffers beyond the L2 cache
  // See local_response_norm.h.
  const char* (*response_norm)(const ResponseNorm& call, const void* x, void* y);
  const char* (*response_norm_backward)(const ResponseNorm& call, const void* x, const void* g,
                                        void* dx);
  // See nms.h.
  const char* (*nms)(const NmsCall& call);
  // See roi_align.h.
  const char* (*roi_align)(const RoiAlignCall& call, const void* features, const void* regions,
                           void* y);
  const char* (*roi_align_backward)(const RoiAlignCall& call, const void* g, const void* regions,
                                    void* dx);
  // See lstm_gates.h.
  const char* (*lstm_gates)(const LstmGatesCall& call, const LstmGatesForward<void>& tensors);
  const char* (*lstm_gates_backward)(const LstmGatesCall& call,
                                     const LstmGatesBackward<void>& tensors);
  // See selective_scan.h.
  const char* (*selective_scan)(const ScanCall& call, const ScanOutputs& out);
  const char* (*selective_scan_backward)(const ScanCall& call, const SelectiveScanGradients& out);
  // See fused_clip.h.
  const char* (*fused_clip)(const FusedClip& call);
  // See fused_update.h.
  const char* (*fused_update)(const FusedUpdate& call);
  // See graphs.h.
  std::unique_ptr<CudaGraphs> (*capture_graphs)(const CaptureCall& call);
  /// Throws NotSupported where the library does not support the problem.
  std::unique_ptr<Kernel> (*make_vendor_kernel)(const VendorCall& call);
};

/// Null until fixtures::unavailable_reason(Device::kCuda) has opened the library and is empty.
const CudaLibrary* cuda_library();

}  // namespace fathom::ops

/// The only exported symbol of the library.
extern "C" __attribute__((visibility("default"))) const fathom::ops::CudaLibrary*
fathom_cuda_library();
