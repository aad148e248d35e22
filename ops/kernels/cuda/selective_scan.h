#pragma once

#include "ops/core/element.h"
#include "ops/kernels/cuda/scan_channel.h"

namespace fathom::ops {

/// A selective scan of at most kMaxStates states on the current device. T is the element, Sum the
/// type to compute in.
struct ScanCall {
  Element element;
  ScanTensors in;
  void* stream;  ///< cudaStream_t
};

/// The gradients of b and c are Sum [scan_parts(C), N, positions, states]: a part adds up the
/// channels of a warp.
struct SelectiveScanGradients {
  ScanChannelGradients channels;
  void* b;
  void* c;
};

FATHOM_HOST_DEVICE constexpr int64_t scan_parts(int64_t channels) { return (channels + 31) / 32; }

/// Launch a kernel and do not wait. Return null, or CUDA's error text where the launch fails.
const char* selective_scan(const ScanCall& call, const ScanOutputs& out);
const char* selective_scan_backward(const ScanCall& call, const SelectiveScanGradients& out);

}  // namespace fathom::ops
