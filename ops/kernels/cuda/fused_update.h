#pragma once

#include <vector>

#include "ops/core/element.h"
#include "ops/kernels/update_rules.h"

namespace fathom::ops {

/// One parameter and what belongs to it, contiguous, on the current device.
struct UpdatedTensor {
  UpdateLists<void> lists;
  int64_t count;
};

struct FusedUpdate {
  UpdateRule rule;
  Element element;
  std::vector<UpdatedTensor> tensors;
  void* stream;  ///< cudaStream_t
};

/// Starts the kernels, one for many tensors, and does not wait for them. Null, or CUDA's words
/// where they do not start.
const char* fused_update(const FusedUpdate& call);

}  // namespace fathom::ops
