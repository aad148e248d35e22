#pragma once

#include <memory>

#include "benchmarks/ranks/crew.h"

namespace fathom::benchmarks {

/// Makes a task that runs its steps on all ranks of the row. `crew` must outlive it. Throws
/// std::runtime_error with the rank that failed.
std::unique_ptr<Task> make_led_task(Crew& crew, const Row& row);

}  // namespace fathom::benchmarks
