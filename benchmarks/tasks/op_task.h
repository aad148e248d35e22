#pragma once

#include <memory>

#include "benchmarks/machine/cache.h"
#include "benchmarks/tasks/task.h"
#include "fixtures/machine/device.h"
#include "ops/types/shapes.h"

namespace fathom::ops {
class KernelSet;
}

namespace fathom::benchmarks {

struct OpOptions {
  fixtures::Device device = fixtures::Device::kCpu;
  fixtures::Precision precision = fixtures::Precision::kFp32;
  ops::Backend backend = ops::Backend::kTorch;
  Cache cache = Cache::kHot;
  uint64_t seed = 0;
  std::shared_ptr<ops::KernelSet> kernels = nullptr;  ///< of Backend::kLibrary
};

/// Whether a cold row is possible: at most some thousand copies of the op's buffers fill the
/// caches, and a call reads most of each copy. Where a call reads a few rows of a large table, the
/// copies would not fit in memory.
bool runs_cold(const ops::Op& op, const OpOptions& options);

/// Whether the buffers of one call are larger than the caches, so that a hot call reads memory,
/// too.
bool exceeds_caches(const ops::Op& op, const OpOptions& options);

/// Makes a task that runs one op at one shape on one backend.
std::unique_ptr<Task> make_op_task(const ops::ShapeRow& row, const OpOptions& options);

}  // namespace fathom::benchmarks
