#include "ops/cuda/graphs.h"

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/core/Generator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace fathom::ops {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

/// Calls `clean_up`, which may fail after an error.
void attempt(const std::function<void()>& clean_up) {
  try {
    clean_up();
  } catch (const std::exception&) {  // the first error is the one to report
    static_cast<void>(cudaGetLastError());
  }
}

class Graphs final : public CudaGraphs {
 public:
  explicit Graphs(const CaptureCall& call) {
    // One for all captures: LibTorch never frees the workspaces of cuBLAS, one for each stream.
    static const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
    c10::cuda::device_synchronize();
    const c10::cuda::CUDAStreamGuard side_stream(stream);
    call.warm_up();
    c10::cuda::device_synchronize();
    allocator::emptyCache();  // a graph cannot use memory of the warm-up that is cached
    for (std::size_t i = 0; i < call.graphs; ++i) capture(call.work);
    c10::cuda::device_synchronize();
  }

  void replay(std::size_t graph) override { graphs_.at(graph)->replay(); }

 private:
  void capture(const std::function<void()>& work) {
    auto& graph = *graphs_.emplace_back(std::make_unique<at::cuda::CUDAGraph>());
    const at::Device device(at::kCUDA, c10::cuda::current_device());
    graph.register_generator_state(at::globalContext().defaultGenerator(device));
    bool work_done = false;
    try {
      graph.capture_begin(pool_);
      work();
      work_done = true;
      graph.capture_end();
    } catch (...) {
      abandon(graph, device, work_done);
      throw;
    }
  }

  /// Ends a failed capture. LibTorch leaves its allocators and its generator in the state of a
  /// capture where cudaStreamEndCapture fails, which would break the steps that follow.
  void abandon(at::cuda::CUDAGraph& graph, const at::Device& device, bool work_done) {
    if (!work_done) attempt([&] { graph.capture_end(); });
    if (has_ended(graph)) return;  // its destructor releases the pool, and must be the only one
    attempt([&] { allocator::endAllocateToPool(device.index(), pool_); });
    attempt([&] { allocator::releasePool(device.index(), pool_); });
    attempt([&] { at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool_); });
    attempt([&] { at::getHostAllocator(at::kCUDA)->release_pool(pool_); });
    at::Generator generator = at::globalContext().defaultGenerator(device);
    attempt([&] { generator.graphsafe_set_state(generator.clone()); });
    static_cast<void>(cudaGetLastError());
  }

  /// Whether the capture has ended, even if the graph could not be instantiated then.
  static bool has_ended(at::cuda::CUDAGraph& graph) {
    try {
      graph.pool();  // throws before the end
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }

  c10::MempoolId_t pool_ = at::cuda::graph_pool_handle();
  std::vector<std::unique_ptr<at::cuda::CUDAGraph>> graphs_;
};

}  // namespace

std::unique_ptr<CudaGraphs> capture_graphs(const CaptureCall& call) {
  return std::make_unique<Graphs>(call);
}

}  // namespace fathom::ops
