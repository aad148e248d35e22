#pragma once

#include <memory>

#include "benchmarks/task.h"
#include "fixtures/device.h"
#include "ops/shapes.h"

namespace fathom::benchmarks {

struct OpOptions {
  fixtures::Device device = fixtures::Device::kCpu;
  fixtures::Precision precision = fixtures::Precision::kFp32;
  ops::Backend backend = ops::Backend::kTorch;
  uint64_t seed = 0;
};

/// One op of a recorded or given shape on one backend.
std::unique_ptr<Task> make_op_task(const ops::ShapeRow& row, const OpOptions& options);

}  // namespace fathom::benchmarks
