#include "benchmarks/rows/row_parts.h"

#include <algorithm>

#include "ops/backends/operators/kernel_library.h"

namespace fathom::benchmarks {

void add_rows(std::vector<Row>& rows, const Axes& axes, const std::string& head,
              const std::string& tail, const Row& row, bool serial) {
  const std::vector<int> threads =
      row.device == fixtures::Device::kCpu && !serial ? axes.threads : std::vector<int>{1};
  for (const int n : threads) {
    Row& one = rows.emplace_back(row);
    one.name.assign(head).append(token("threads", n)).append(tail);
    one.subject.assign(head).append(tail);
    one.threads = n;
  }
}

void add_rank_rows(std::vector<Row>& rows, const Axes& axes, const std::vector<int>& ranks,
                   const std::string& head, const std::string& tail, const Row& row, bool serial) {
  const bool on_cpu = row.device == fixtures::Device::kCpu;
  for (const int count : ranks) {
    for (const int threads : serial || !on_cpu ? std::vector<int>{1} : axes.threads) {
      if (on_cpu ? !has_cores(axes, count, threads) : !has_gpus(axes, count)) continue;
      Row& one = rows.emplace_back(row);
      one.name.assign(head)
          .append(token("threads", threads))
          .append(token("ranks", count))
          .append(tail);
      one.subject = one.name;  // each thread count and each group needs a task of its own
      one.threads = threads;
      one.ranks = count;
      if (on_cpu) one.ranks_here = ranks_here(axes, count);
    }
  }
}

std::string backend_name(const Axes& axes, ops::Backend backend) {
  return backend == ops::Backend::kLibrary ? axes.library->name() : std::string(name(backend));
}

bool asks_for(const Axes& axes, ops::Backend backend) {
  return std::find(axes.backends.begin(), axes.backends.end(), backend) != axes.backends.end();
}

bool wanted(const Axes& axes, ops::Backend backend) {
  return axes.backends.empty() || backend == ops::Backend::kLibrary || asks_for(axes, backend);
}

bool has_library(const Axes& axes, fixtures::Device device) {
  return axes.library != nullptr && axes.library->has_kernels_for(device);
}

}  // namespace fathom::benchmarks
