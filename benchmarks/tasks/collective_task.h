#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "benchmarks/tasks/rank_task.h"

namespace fathom::benchmarks {

/// What a group of ranks computes from `elements` floats, by the names of MPI and NCCL.
enum class Collective { kAllReduce, kAllGather, kReduceScatter, kBroadcast };

inline constexpr std::array<std::string_view, 4> kCollectiveNames{"all_reduce", "all_gather",
                                                                  "reduce_scatter", "broadcast"};

constexpr std::string_view name(Collective collective) {
  return kCollectiveNames[static_cast<std::size_t>(collective)];
}

/// Makes the task of one rank. all_gather ends with all elements on every rank, reduce_scatter
/// begins with them; both give each rank an equal part, rounded up.
std::unique_ptr<RankTask> make_collective_task(Collective collective, int64_t elements,
                                               std::shared_ptr<const fixtures::Group> group,
                                               fixtures::Device device);

}  // namespace fathom::benchmarks
