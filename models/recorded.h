#pragma once

#include <string>

#include "fixtures/machine/device.h"
#include "models/table.h"

namespace fathom::models {

/// The shapes file (ops/types/shapes.h) of a workload: the ops of one training step and one
/// inference step at full size, on `device` in fp32 with the current number of threads.
std::string record_shapes_json(const WorkloadRow& row,
                               fixtures::Device device = fixtures::Device::kCpu);

}  // namespace fathom::models
