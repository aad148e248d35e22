#pragma once

#include "ops/core/element.h"
#include "ops/kernels/cuda/roi_align_bin.h"

namespace fathom::ops {

/// Regions are double where `element` is, otherwise float. Tensors are on the current device.
struct RoiAlignCall {
  RoiAlignShape shape;
  Element element;  ///< of the features and of y
  void* stream;     ///< cudaStream_t
};

/// Launch the kernel and do not wait. Return null, or CUDA's error text where the launch fails.
const char* roi_align(const RoiAlignCall& call, const void* features, const void* regions, void* y);
/// Adds to dx, which has the type of the regions and is 0 before.
const char* roi_align_backward(const RoiAlignCall& call, const void* g, const void* regions,
                               void* dx);

}  // namespace fathom::ops
