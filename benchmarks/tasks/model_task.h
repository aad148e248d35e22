#pragma once

#include <memory>

#include "benchmarks/tasks/task.h"
#include "models/step.h"

namespace fathom::benchmarks {

/// A workload's train or infer step.
std::unique_ptr<Task> make_model_task(const models::WorkloadRow& row,
                                      const models::StepOptions& options);

/// The memory of such a step by class (models/memory.h). Builds a step of its own.
Counters memory_counters(const models::WorkloadRow& row, const models::StepOptions& options);

}  // namespace fathom::benchmarks
