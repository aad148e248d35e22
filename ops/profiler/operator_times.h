#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/profiler/gpu_events.h"

namespace fathom::ops {

/// The calls of one of LibTorch's operators.
struct OperatorTime {
  std::string name;    ///< as it is registered: "mm", "add.Tensor"
  int64_t count = 0;   ///< calls, those by other operators included
  double seconds = 0;  ///< without the operators that they call
};

/// Runs `work` and returns the operators that it calls on this thread, the longest first.
/// Exceptions of `work` propagate.
std::vector<OperatorTime> operator_times(const std::function<void()>& work);

/// The same with the time of what each operator launched on the GPU. `work` must wait for the GPU
/// at its end. None where the profiler recorded nothing on the GPU.
std::optional<std::vector<OperatorTime>> gpu_operator_times(const std::function<void()>& work,
                                                            const GpuProfiler& gpu = gpu_events);

}  // namespace fathom::ops
