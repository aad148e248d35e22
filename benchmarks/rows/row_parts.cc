#include "benchmarks/rows/row_parts.h"

#include <algorithm>

#include "ops/backends/operators/kernel_library.h"

namespace fathom::benchmarks {

void add_rows(std::vector<Row>& rows, const Options& options, const std::string& head,
              const std::string& tail, const Row& row, bool serial) {
  const std::vector<int> threads =
      row.device == fixtures::Device::kCpu && !serial ? options.threads : std::vector<int>{1};
  for (const int n : threads) {
    Row& one = rows.emplace_back(row);
    one.name.assign(head).append(token("threads", n)).append(tail);
    one.subject.assign(head).append(tail);
    one.threads = n;
    one.samples = !options.samples.empty();
  }
}

void add_rank_rows(std::vector<Row>& rows, const Options& options, const std::string& head,
                   const std::string& tail, const Row& row, bool serial) {
  const bool on_cpu = row.device == fixtures::Device::kCpu;
  for (const int ranks : options.ranks) {
    for (const int threads : serial || !on_cpu ? std::vector<int>{1} : options.threads) {
      if (on_cpu ? !has_cores(options, ranks, threads) : !has_gpus(options, ranks)) continue;
      Row& one = rows.emplace_back(row);
      one.name.assign(head)
          .append(token("threads", threads))
          .append(token("ranks", ranks))
          .append(tail);
      one.subject = one.name;  // each thread count and each group needs a task of its own
      one.threads = threads;
      one.ranks = ranks;
      if (on_cpu) one.ranks_here = ranks_here(options, ranks);
      one.samples = !options.samples.empty();
    }
  }
}

std::string backend_name(const Options& options, ops::Backend backend) {
  return backend == ops::Backend::kLibrary ? options.library->name() : std::string(name(backend));
}

bool asks_for(const Options& options, ops::Backend backend) {
  return std::find(options.backends.begin(), options.backends.end(), backend) !=
         options.backends.end();
}

bool wanted(const Options& options, ops::Backend backend) {
  return options.backends.empty() || options.explain || backend == ops::Backend::kLibrary ||
         asks_for(options, backend);
}

bool has_library(const Options& options, fixtures::Device device) {
  return options.library != nullptr && options.library->has_kernels_for(device);
}

}  // namespace fathom::benchmarks
