#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/core/op_class.h"
#include "ops/profiler/gpu_events.h"

namespace fathom::ops {

/// The time of one op type in profiled work.
struct OpTime {
  std::string type;  ///< OpType::name, or LibTorch's name of an op without a type
  OpClass op_class;
  int64_t count = 0;   ///< calls; the gradients of a scope count as one
  double seconds = 0;  ///< self time, without other ops inside
};

struct Profile {
  std::vector<OpTime> ops;  ///< in descending order of time; they sum to `seconds`
  double seconds;
  std::optional<double> gpu_seconds = {};  ///< time in which the GPU was busy; none on the CPU
};

/// Runs `work` and returns the time of every op type on this thread. No microsecond is counted
/// twice: what runs inside an op of a type is part of it, as are the gradients of what ran inside a
/// profiling scope "op:<type>". The type "framework" is the time between ops. Exceptions of `work`
/// propagate.
Profile profile(const std::function<void()>& work);

/// As profile(), on the GPU: an op's time is that of the kernels, copies and fills that it
/// launched, "framework" the time in which the GPU was idle or ran something that no op launched.
/// `work` must wait for the GPU at its end. None where the profiler recorded nothing on the GPU.
std::optional<Profile> gpu_profile(const std::function<void()>& work,
                                   const GpuProfiler& gpu = gpu_events);

/// The sum of several profiles.
Profile sum(const std::vector<Profile>& profiles);

}  // namespace fathom::ops
