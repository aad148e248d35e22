#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "benchmarks/tasks/task.h"
#include "fixtures/machine/device.h"
#include "ops/types/shapes.h"

namespace fathom::benchmarks {

/// Where a call finds its buffers: in the caches, where the call before left them, or in memory,
/// since the calls take turns with copies of the buffers.
enum class Cache { kHot, kCold };

inline constexpr std::array<std::string_view, 2> kCacheNames{"hot", "cold"};

constexpr std::string_view name(Cache cache) {
  return kCacheNames[static_cast<std::size_t>(cache)];
}

struct OpOptions {
  fixtures::Device device = fixtures::Device::kCpu;
  fixtures::Precision precision = fixtures::Precision::kFp32;
  ops::Backend backend = ops::Backend::kTorch;
  Cache cache = Cache::kHot;
  uint64_t seed = 0;
};

/// Whether some thousand copies of the op's buffers fill the caches, and little beside: copies of a
/// table in which a call looks up some rows would fill the memory first.
bool runs_cold(const ops::Op& op, const OpOptions& options);

/// Whether one call's buffers fill the caches, so that it runs cold whatever was before.
bool runs_cold_anyway(const ops::Op& op, const OpOptions& options);

/// One op of a recorded or given shape on one backend.
std::unique_ptr<Task> make_op_task(const ops::ShapeRow& row, const OpOptions& options);

}  // namespace fathom::benchmarks
