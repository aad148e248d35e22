#pragma once

namespace fathom::ops {

/// Whether composites on the CPU that LibTorch's users write of several ops, such as an LSTM cell,
/// an optimizer's update and the clipping of gradients, run fused kernels in this process. Off in
/// backend:torch, which runs what users write.
inline bool& fused_composites() {
  static bool fused = false;
  return fused;
}

}  // namespace fathom::ops
