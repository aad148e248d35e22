#pragma once

#include "benchmarks/ranks/message.h"
#include "benchmarks/tasks/rank_task.h"

namespace fathom::benchmarks {

/// Does what a command asks of this rank's task, which every rank of the row does at the same time.
/// Returns the value of its answer.
double perform(RankTask& task, const Command& command);

}  // namespace fathom::benchmarks
