#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace fathom::ops {

/// A kernel, copy or fill on the GPU. Times are nanoseconds since the epoch.
struct GpuEvent {
  int64_t launched;  ///< when the host was inside the call that launched it; 0 for none
  int64_t begin;
  int64_t end;
};

/// An event of a trace of Kineto. Times are nanoseconds since the epoch.
struct TraceEvent {
  enum class What {
    kOp,       ///< an op of LibTorch
    kCall,     ///< a call of CUDA's runtime or driver, such as cudaLaunchKernel
    kGpuWork,  ///< a kernel, copy or fill
    kOther,    ///< such as a profiling scope
  };
  What what;
  uint64_t id;      ///< the same for a call and the work that it launched; ops count separately
  uint64_t linked;  ///< of GPU work: the id of the op that launched it; 0 for none
  int64_t begin;
  int64_t end;
};

/// The GPU work of `trace`, launched by the call with its id or else by the op to which it is
/// linked. Kineto links no op to a kernel that this project launches.
std::vector<GpuEvent> gpu_work(const std::vector<TraceEvent>& trace);

/// Runs `work` and returns what it ran on the GPU, as recorded by Kineto through CUPTI. `work` must
/// wait for the device at its end. The ops are those of this thread and of autograd's. Exceptions
/// of `work` propagate. Empty where LibTorch has no CUPTI.
std::vector<GpuEvent> gpu_events(const std::function<void()>& work);

/// What gpu_events does; tests pretend a GPU.
using GpuProfiler = std::function<std::vector<GpuEvent>(const std::function<void()>&)>;

}  // namespace fathom::ops
