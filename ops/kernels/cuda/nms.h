#pragma once

#include "ops/core/element.h"
#include "ops/kernels/cuda/nms_mask.h"

namespace fathom::ops {

/// Boxes [count, 4] that are sorted by falling score, and memory, all on the current device.
struct NmsCall {
  Element element;    ///< kFp32 or kFp64
  const void* boxes;  ///< Box<float> or Box<double>
  int64_t count;
  double max_overlap;
  uint64_t* mask;  ///< [mask_words(count), count], written
  int64_t* kept;   ///< [count + 1]: positions of the kept boxes; the last element is their number
  void* stream;    ///< cudaStream_t
};

/// Launches two kernels and does not wait. Returns null, or CUDA's error text where a launch fails.
const char* nms(const NmsCall& call);

}  // namespace fathom::ops
