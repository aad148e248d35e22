// Stands in for libfathom_cuda.so on a machine without a GPU: runs the work of a capture, then
// fails as a graph does that cannot be instantiated.
#include <stdexcept>

#include "ops/cuda/graphs.h"
#include "ops/cuda/library.h"

namespace fathom::ops {
namespace {

std::unique_ptr<CudaGraphs> fail_after_work(const CaptureCall& call) {
  call.work();
  throw std::runtime_error("CUDA error: out of memory\nbacktrace");
}

}  // namespace
}  // namespace fathom::ops

const fathom::ops::CudaLibrary* fathom_cuda_library() {
  static const fathom::ops::CudaLibrary library = [] {
    fathom::ops::CudaLibrary made{};
    made.capture_graphs = fathom::ops::fail_after_work;
    return made;
  }();
  return &library;
}
