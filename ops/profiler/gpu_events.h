#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace fathom::ops {

/// A kernel, copy or fill on the GPU. Times are nanoseconds since the epoch.
struct GpuEvent {
  int64_t asked;  ///< when the host was inside the op of LibTorch that asked for it
  int64_t begin;
  int64_t end;
};

/// Runs `work`, which waits for the device at its end, and returns what it ran on the GPU, as seen
/// by Kineto, that is CUPTI; ops are those of this thread and of autograd's. Exceptions of `work`
/// go through. Empty where LibTorch has no CUPTI.
std::vector<GpuEvent> gpu_events(const std::function<void()>& work);

}  // namespace fathom::ops
