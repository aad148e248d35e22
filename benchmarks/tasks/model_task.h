#pragma once

#include <memory>

#include "benchmarks/tasks/task.h"
#include "models/step.h"

namespace fathom::benchmarks {

/// Makes a task that runs the training or inference step of a workload.
std::unique_ptr<Task> make_model_task(const models::WorkloadRow& row,
                                      const models::StepOptions& options);

/// Builds a step of its own and measures its memory by class (models/memory.h).
Counters memory_counters(const models::WorkloadRow& row, const models::StepOptions& options);

}  // namespace fathom::benchmarks
