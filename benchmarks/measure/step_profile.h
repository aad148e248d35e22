#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "benchmarks/tasks/task.h"
#include "fixtures/machine/device.h"
#include "ops/profiler/profile.h"

namespace fathom::benchmarks {

/// The time of op types in a few untimed steps after a pass.
struct StepProfile {
  int64_t steps;
  double cpu_seconds;                ///< of the process, in all steps
  ops::Profile ops;                  ///< of all steps together
  std::vector<ops::Profile> series;  ///< of each step, where each is profiled separately
};

/// The share of a timed step, of `step_us`, in which the GPU was busy; none on the CPU. A profiled
/// step is no measure: it takes longer, because Kineto delays the host.
std::optional<double> gpu_busy_pct(const StepProfile& profile, double step_us);

/// Makes the steps of a GPU's profile as long as a timed step of `step_us`: of the types only the
/// time of "framework" changes, in which the GPU is idle. The CPU's share of the time stays. Does
/// nothing on the CPU.
void set_step_time(StepProfile& profile, double step_us);

/// Runs `steps` steps of `task` under the profiler; `singly` profiles each one separately (CPU
/// only). None where the profiler recorded nothing on the GPU.
std::optional<StepProfile> profile_steps(Task& task, fixtures::Device device, int64_t steps,
                                         bool singly);

}  // namespace fathom::benchmarks
