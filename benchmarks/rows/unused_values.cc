#include <algorithm>
#include <string>
#include <vector>

#include "benchmarks/rows/row_parts.h"
#include "benchmarks/rows/rows.h"
#include "ops/backends/operators/kernel_library.h"

namespace fathom::benchmarks {
namespace {

/// A value of an option, and its token in the names of rows.
struct UsedValue {
  std::string option;           ///< as typed, with this value only
  std::string token;            ///< "/threads:2/"
  bool may_be_filtered = true;  ///< by a filter that names its key
};

class Values {
 public:
  explicit Values(const Options& options) : options_(options) {}

  template <typename List>
  void add(const char* flag, const char* key, const List& list) {
    if (!options_.was_typed(flag)) return;
    for (const auto& value : list) {
      const std::string text = token(key, value);
      all_.push_back({.option = std::string(flag) + '=' + text.substr(text.find(':') + 1),
                      .token = text + '/'});
    }
  }

  void add_library() {
    if (options_.library == nullptr) return;
    all_.push_back({.option = "--fathom_kernels=" + options_.kernels,
                    .token = token("backend", options_.library->name()) + '/',
                    .may_be_filtered = false});
  }

  const std::vector<UsedValue>& all() const { return all_; }

 private:
  const Options& options_;
  std::vector<UsedValue> all_;
};

bool has(const std::vector<Row>& rows, const std::string& token) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    return (row.name + kNameSuffix).find(token) != std::string::npos;
  });
}

}  // namespace

std::vector<std::string> unused_values(const Options& options, const std::vector<Row>& all,
                                       const std::vector<Row>& chosen, const std::string& filter) {
  std::vector<std::string> backends;
  for (const auto backend : options.backends) {
    if (backend != ops::Backend::kLibrary) backends.push_back(backend_name(options, backend));
  }
  Values values(options);
  values.add("--fathom_device", "device", options.devices);
  values.add("--fathom_threads", "threads", options.threads);
  values.add("--fathom_ranks", "ranks", options.ranks);
  values.add("--fathom_batch", "batch", options.batches);
  values.add("--fathom_precision", "precision", options.precisions);
  values.add("--fathom_cache", "cache", options.caches);
  values.add("--fathom_backend", "backend", backends);
  values.add_library();
  std::vector<std::string> lines;
  for (const auto& [option, token, may_be_filtered] : values.all()) {
    const bool is_named =
        may_be_filtered && filter.find(token.substr(1, token.find(':'))) != std::string::npos;
    if (has(chosen, token) || (is_named && has(all, token))) continue;
    std::string line = option;
    line.append(": no row that runs has ").append(token.substr(1, token.size() - 2));
    lines.push_back(has(all, token)
                        ? line.append("; --benchmark_filter=").append(filter) + " leaves those out"
                        : line + ", and with these options no other row has it");
  }
  return lines;
}

}  // namespace fathom::benchmarks
