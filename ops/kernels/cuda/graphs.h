#pragma once

#include <cstddef>
#include <functional>

namespace fathom::ops {

/// Work on the current device that was captured once and can be launched again: CUDA graphs. They
/// share memory, so they must be replayed in the order in which they were captured.
class CudaGraphs {
 public:
  virtual ~CudaGraphs() = default;
  /// Launches a graph on the current stream and does not wait. Random numbers go on from those of
  /// LibTorch's default generator.
  virtual void replay(std::size_t graph) = 0;
};

struct CaptureCall {
  std::function<void()> warm_up;  ///< runs the work without capturing it
  std::function<void()> work;     ///< captured, not executed, `graphs` times
  std::size_t graphs;
};

/// Warms up and captures on a stream of its own, as PyTorch's manual says, and waits for the
/// device. The caller owns the result. Throws what the work or LibTorch throws, such as c10::Error
/// where the work waits for the device.
CudaGraphs* capture_graphs(const CaptureCall& call);

}  // namespace fathom::ops
