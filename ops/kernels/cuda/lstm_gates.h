#pragma once

#include "ops/core/element.h"
#include "ops/kernels/lstm_gates_rule.h"

namespace fathom::ops {

/// Type and sizes of a cell's tensors, which are on the current device.
struct LstmGatesCall {
  Element element;
  int64_t samples;
  int64_t width;
  void* stream;  ///< cudaStream_t
};

/// Launch the kernel and do not wait. Return null, or CUDA's error text where the launch fails.
const char* lstm_gates(const LstmGatesCall& call, const LstmGatesForward<void>& tensors);
const char* lstm_gates_backward(const LstmGatesCall& call, const LstmGatesBackward<void>& tensors);

}  // namespace fathom::ops
