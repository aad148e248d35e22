#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/core/op_class.h"
#include "ops/profiler/gpu_events.h"

namespace fathom::ops {

/// What one op type took of a watched stretch of work.
struct OpTime {
  std::string type;  ///< OpType::name; else LibTorch's own name
  OpClass op_class;
  int64_t count = 0;   ///< calls; a scope's gradients are one
  double seconds = 0;  ///< without the time of other ops inside
};

struct Profile {
  std::vector<OpTime> ops;  ///< the longest first; together they fill `seconds`
  double seconds;
  std::optional<double> gpu_seconds = {};  ///< in which the GPU was busy; none on the CPU
};

/// Runs `work` and returns the time of every op type on this thread. No microsecond is counted
/// twice: what runs inside an op of a type is part of it, as are the gradients of what ran inside a
/// profiling scope "op:<type>". The time between ops is the type "framework". Exceptions of `work`
/// go through.
Profile profile(const std::function<void()>& work);

/// All of them as one stretch of work.
Profile sum(const std::vector<Profile>& profiles);

/// Runs work and says what it ran on the GPU.
using GpuWatch = std::function<std::vector<GpuEvent>(const std::function<void()>&)>;

/// The same of the GPU, for work that waits for it at its end: the time of the kernels, copies and
/// fills that each op asked for. "framework" is the time in which the GPU had nothing to do, or
/// something that no op asked for.
Profile gpu_profile(const std::function<void()>& work, const GpuWatch& gpu = gpu_events);

}  // namespace fathom::ops
