#pragma once

#include <optional>

#include "models/step.h"
#include "ops/profiler/memory_log.h"

namespace fathom::models {

/// Memory of one step by class, in bytes.
struct StepMemory {
  ops::MemoryUse measured;
  /// Computed from tensor sizes: bytes of weights, gradients, optimizer state and inputs. Other
  /// classes are empty.
  ops::ByMemoryClass<std::optional<double>> predicted;
};

/// Builds a step and records its second run, because the first run allocates the optimizer's state.
/// Throws what the step throws.
StepMemory step_memory(const WorkloadRow& row, const StepOptions& options);

}  // namespace fathom::models
