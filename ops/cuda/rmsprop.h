#pragma once

#include <cstdint>

#include "ops/element.h"
#include "ops/rmsprop_rule.h"

namespace fathom::ops {

/// An update of `count` contiguous elements (float or double) on the current device.
struct RmsPropUpdate {
  RmsProp options;
  Element element;
  int64_t count;
  void* stream;  ///< cudaStream_t
};

/// Starts the kernel and does not wait for it. Null, or CUDA's words where it does not start.
const char* rmsprop_update(const RmsPropUpdate& call, void* p, const void* g, void* mean_square);

}  // namespace fathom::ops
