#include "benchmarks/options/preset.h"

#include "benchmarks/error.h"
#include "benchmarks/options/google_benchmark_flags.h"

namespace fathom::benchmarks {

void refuse_conflicts(const std::string& preset, std::span<const Conflict> conflicts,
                      const Options& options) {
  for (const auto& [flag, why] : conflicts) {
    if (options.was_typed(flag))
      throw UsageError(preset + ": not together with " + flag + ", " + why);
  }
}

bool google_benchmark_has(const Options& options, const char* flag, const char* variable) {
  return !google_benchmark_value(options.google_benchmark, flag, variable, "").empty();
}

void shorten_rows(Options& options) {
  if (google_benchmark_has(options, "--benchmark_min_time", "BENCHMARK_MIN_TIME")) return;
  options.google_benchmark.emplace_back("--benchmark_min_time=0.05");
}

}  // namespace fathom::benchmarks
