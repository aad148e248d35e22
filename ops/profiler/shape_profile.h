#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/core/op_class.h"
#include "ops/profiler/gpu_events.h"

namespace fathom::ops {

/// The time of the calls of one type and shape in profiled steps.
struct ShapeTime {
  std::string type;  ///< as in OpTime
  OpClass op_class;
  /// ShapeRow::key() of the ops that one call runs, in order. Empty where the call matches no type;
  /// then the time is that of all of `type`, as in OpTime.
  std::vector<std::string> keys;
  int64_t count = 0;   ///< calls; the gradients of a scope count as one
  double seconds = 0;  ///< self time, without other ops inside
};

struct ShapeProfile {
  int64_t steps;  ///< steps that are counted; 0 where no step repeats the first one
  double seconds;
  std::vector<ShapeTime> shapes;  ///< they sum to `seconds`; "framework" is the time between ops
};

/// Runs `step` several times and returns the time of every op shape on this thread, as match.h
/// matches it. Reading arguments takes longer than small ops do, so one step is traced with its
/// arguments and `steps` more are timed without. The result is from the steps that run the same ops
/// in the same order, without the fastest and the slowest quarter. Exceptions of `step` propagate.
ShapeProfile shape_profile(const std::function<void()>& step, int64_t steps);

/// The same on the GPU: the time of the kernels, copies and fills that each shape launched. `step`
/// must wait for the GPU at its end. "framework" is what no op launched; the time in which the GPU
/// was idle is left out, because Kineto lengthens it. None where the profiler recorded nothing on
/// the GPU.
std::optional<ShapeProfile> gpu_shape_profile(const std::function<void()>& step, int64_t steps,
                                              const GpuProfiler& gpu = gpu_events);

}  // namespace fathom::ops
