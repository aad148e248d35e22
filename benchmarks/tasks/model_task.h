#pragma once

#include <memory>

#include "benchmarks/tasks/rank_task.h"
#include "models/step.h"

namespace fathom::ops {
class KernelSet;
}

namespace fathom::benchmarks {

/// Makes a task that runs the training or inference step of a workload. With `cuda_graph` it
/// captures the step on a GPU and replays it; throws std::runtime_error for a step that cannot be
/// captured. With `kernels` it installs them in the process; throws std::runtime_error where the
/// step then computes other results, and where a compiled network computes others than before.
/// Kernels that choose run a step that cannot be captured without a graph, and repeat `recorded` if
/// there is one.
std::unique_ptr<Task> make_model_task(const models::WorkloadRow& row,
                                      const models::StepOptions& options, bool cuda_graph = false,
                                      std::shared_ptr<ops::KernelSet> kernels = nullptr,
                                      const StepChoice* recorded = nullptr);

/// Makes the task of one rank, which trains in a group.
std::unique_ptr<RankTask> make_rank_model_task(const models::WorkloadRow& row,
                                               const models::StepOptions& options);

/// Builds a step of its own and measures its memory by class (models/memory.h).
Counters memory_counters(const models::WorkloadRow& row, const models::StepOptions& options);

}  // namespace fathom::benchmarks
