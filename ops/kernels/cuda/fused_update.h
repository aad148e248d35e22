#pragma once

#include <vector>

#include "ops/core/element.h"
#include "ops/kernels/update_rules.h"

namespace fathom::ops {

/// One parameter with its gradient and states, contiguous, on the current device.
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

/// Launches one kernel per TensorGroup and does not wait. Returns null, or CUDA's error text where
/// a launch fails.
const char* fused_update(const FusedUpdate& call);

}  // namespace fathom::ops
