#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace fathom::ops {

/// CUDA graphs: work on the current device that is captured once and launched any number of times.
/// The graphs share memory, so they must be replayed in the order of their capture.
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

/// Warms up and captures on a stream of its own, because the default stream cannot be captured, and
/// waits for the device. Throws what the work or LibTorch throws: c10::Error where the work waits
/// for the device. LibTorch can go on after an error.
std::unique_ptr<CudaGraphs> capture_graphs(const CaptureCall& call);

}  // namespace fathom::ops
