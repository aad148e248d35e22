#pragma once

#include <cstdint>
#include <vector>

#include "benchmarks/tasks/task.h"
#include "fixtures/machine/device.h"
#include "ops/profiler/profile.h"

namespace fathom::benchmarks {

/// The time of op types in a few untimed steps after a pass.
struct StepProfile {
  int64_t steps;
  double cpu_seconds;                ///< of the process
  ops::Profile ops;                  ///< of all steps together
  std::vector<ops::Profile> series;  ///< of each step, where each is profiled separately
};

/// Runs `steps` steps of `task` under the profiler; `singly` profiles each one separately (CPU
/// only).
StepProfile profile_steps(Task& task, fixtures::Device device, int64_t steps, bool singly);

}  // namespace fathom::benchmarks
