#include "benchmarks/rows/row_parts.h"

#include <algorithm>

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

std::string backend_name(const Options& options, ops::Backend backend) {
  return backend == ops::Backend::kLibrary ? options.library->name : std::string(name(backend));
}

bool asks_for(const Options& options, ops::Backend backend) {
  return std::find(options.backends.begin(), options.backends.end(), backend) !=
         options.backends.end();
}

bool wanted(const Options& options, ops::Backend backend) {
  return options.backends.empty() || options.explain || asks_for(options, backend);
}

bool has_library(const Options& options, fixtures::Device device) {
  return options.library != nullptr && options.library->has_kernels_for(device);
}

}  // namespace fathom::benchmarks
