#include <algorithm>
#include <numeric>

#include "benchmarks/rows/row_parts.h"
#include "benchmarks/rows/rows.h"
#include "benchmarks/tasks/collective_task.h"
#include "fixtures/ranks/group.h"
#include "models/table.h"
#include "ops/types/shapes.h"

namespace fathom::benchmarks {
namespace {

using fixtures::Device;

/// What runs the collectives of a device.
struct Comm {
  Device device;
  std::string backend;
  std::vector<int> ranks;
};

std::vector<Comm> comms(const Axes& axes) {
  std::vector<Comm> all;
  for (const Device device : axes.devices) {
    const bool on_cpu = device == Device::kCpu;
    all.push_back({device, on_cpu ? "gloo" : "nccl", axes.ranks});
    // MPI's collectives have all processes that mpirun has started.
    if (on_cpu && axes.place && axes.place->launcher == "mpirun" && fixtures::has_mpi() &&
        std::count(axes.ranks.begin(), axes.ranks.end(), axes.place->size) > 0) {
      all.push_back({device, "mpi", {axes.place->size}});
    }
  }
  return all;
}

void add_collective(std::vector<Row>& rows, const Axes& axes, Collective collective,
                    std::string_view workload, const std::string& what, int64_t elements) {
  for (const auto& [device, backend, ranks] : comms(axes)) {
    const std::string head = "op/" + std::string(name(collective)) + '/' + std::string(workload) +
                             '/' + what + "/update" + token("device", device);
    const std::string tail = token("precision", fixtures::Precision::kFp32) +
                             token("cache", Cache::kHot) + token("backend", backend);
    add_rank_rows(rows, axes, ranks, head, tail,
                  {.uses_mpi = backend == "mpi",
                   .device = device,
                   .backend = backend,
                   .make_rank =
                       [collective, elements](const Row& row, const auto& group) {
                         return make_collective_task(collective, elements, group, row.device);
                       }},
                  /*serial=*/true);
  }
}

}  // namespace

std::vector<Row> collective_rows(const Axes& axes, const Conditions& /*conditions*/) {
  std::vector<Row> rows;
  if (axes.ranks.empty() || !axes.backends.empty()) return rows;
  for (const auto& workload : models::workloads()) {
    const auto buckets = ops::gradient_buckets(models::shapes_text(workload));
    if (buckets.empty()) continue;
    const auto add = [&](Collective collective, const std::string& what, int64_t elements) {
      add_collective(rows, axes, collective, workload.name, what, elements);
    };
    add(Collective::kAllReduce, "gradients",
        std::accumulate(buckets.begin(), buckets.end(), int64_t{0}));
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      add(Collective::kAllReduce, "bucket" + std::to_string(i), buckets[i]);
    }
    for (const auto collective :
         {Collective::kAllGather, Collective::kReduceScatter, Collective::kBroadcast}) {
      add(collective, "parameters", workload.parameters);
    }
  }
  return rows;
}

}  // namespace fathom::benchmarks
