#pragma once

#include <optional>

#include "models/step.h"
#include "ops/profiler/memory_log.h"

namespace fathom::models {

/// Memory of one step by what it is for.
struct StepMemory {
  ops::MemoryUse measured;
  /// What arithmetic says of `measured.most`, where it says anything: of weights, gradients,
  /// optimizer state and inputs.
  ops::ByMemoryClass<std::optional<double>> predicted;
};

/// Builds the step and watches the second one, for the first makes the optimizer's state. Throws
/// what the step throws.
StepMemory step_memory(const WorkloadRow& row, const StepOptions& options);

}  // namespace fathom::models
