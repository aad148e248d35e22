#pragma once

#include "ops/core/element.h"
#include "ops/kernels/lstm_gates_rule.h"

namespace fathom::ops {

/// A cell's tensors on the current device.
struct LstmGatesCall {
  Element element;
  int64_t samples;
  int64_t width;
  void* stream;  ///< cudaStream_t
};

/// Start the kernel and do not wait for it. Null, or CUDA's words where it does not start.
const char* lstm_gates(const LstmGatesCall& call, const LstmGatesForward<void>& at);
const char* lstm_gates_backward(const LstmGatesCall& call, const LstmGatesBackward<void>& at);

}  // namespace fathom::ops
