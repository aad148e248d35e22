#include "benchmarks/explain/explain_options.h"

#include <array>

#include "benchmarks/error.h"
#include "benchmarks/options/preset.h"
#include "fixtures/machine/cpu_kinds.h"

namespace fathom::benchmarks {
namespace {

constexpr std::array<Conflict, 6> kConflicts{{
    {"--fathom_resume", "it measures all its rows in one run"},
    {"--fathom_record", "which measures nothing"},
    {"--fathom_batch", "its op shapes are those of the workload's own batch"},
    {"--fathom_cache", "it runs ops hot and cold"},
    {"--fathom_profile", "it profiles the step itself"},
    {"--fathom_shapes", "its op shapes are those of the workload"},
}};

}  // namespace

void resolve_explanation(Options& options) {
  if (!options.explain) return;
  refuse_conflicts("--fathom_explain", kConflicts, options);
  if (google_benchmark_has(options, "--benchmark_filter", "BENCHMARK_FILTER")) {
    throw UsageError(
        "--fathom_explain: not together with --benchmark_filter, it chooses its rows itself");
  }
  options.caches = {Cache::kHot, Cache::kCold};
  if (options.threads.empty()) options.threads = {fixtures::alike_cores()};
  shorten_rows(options);
}

}  // namespace fathom::benchmarks
