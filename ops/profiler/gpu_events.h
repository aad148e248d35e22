#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace fathom::ops {

/// A kernel, copy or fill on the GPU. Times are nanoseconds since the epoch.
struct GpuEvent {
  int64_t launched;  ///< when the host was inside the LibTorch op that launched it; 0 for none
  int64_t begin;
  int64_t end;
};

/// Runs `work` and returns what it ran on the GPU, as recorded by Kineto through CUPTI. `work` must
/// wait for the device at its end. The ops are those of this thread and of autograd's. Exceptions
/// of `work` propagate. Empty where LibTorch has no CUPTI.
std::vector<GpuEvent> gpu_events(const std::function<void()>& work);

}  // namespace fathom::ops
