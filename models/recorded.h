#pragma once

#include <string>

#include "models/table.h"

namespace fathom::models {

/// The shapes file (ops/shapes.h) of what a training step and an inference of a workload run at
/// their full size, on the CPU in fp32 at the current thread count.
std::string record_shapes_json(const WorkloadRow& row);

}  // namespace fathom::models
