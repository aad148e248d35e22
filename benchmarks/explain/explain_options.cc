#include "benchmarks/explain/explain_options.h"

#include <array>
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/options/nearest.h"
#include "models/table.h"

namespace fathom::benchmarks {
namespace {

/// Options that an explanation settles itself, and why.
constexpr std::array<Settled, 7> kSettled{{
    {"--fathom_resume", "it measures all its rows in one run"},
    {"--fathom_record", "which measures nothing"},
    {"--fathom_batch", "its op shapes are those of Fathom's batch"},
    {"--fathom_cache", "it runs ops hot and cold"},
    {"--fathom_backend", "it runs every backend"},
    {"--fathom_profile", "it watches the step itself"},
    {"--fathom_shapes", "its op shapes are those of the workload"},
}};

StepName step_name(const std::string& typed) {
  std::vector<std::string> known;
  for (const auto& workload : models::workloads()) {
    for (const auto mode : {models::Mode::kTrain, models::Mode::kInfer}) {
      known.push_back(std::string(workload.name) + '/' + std::string(name(mode)));
      if (typed == known.back()) return {std::string(workload.name), mode};
    }
  }
  const auto best = nearest(typed, known, 1);
  throw UsageError("--fathom_explain=" + typed + ": no such step" +
                   (best.empty() ? ", expected a workload of --fathom_models and /train or /infer"
                                 : "; did you mean " + best[0] + "?"));
}

}  // namespace

void settle_explanation(const std::string& typed, const Given& given, Options& options) {
  options.explain = step_name(typed);
  options.caches = {Cache::kHot, Cache::kCold};
  refuse_beside("--fathom_explain", kSettled, given);
  if (google_benchmark_has(options, "--benchmark_filter", "BENCHMARK_FILTER")) {
    throw UsageError(
        "--fathom_explain: not together with --benchmark_filter, it chooses its rows itself");
  }
  shorten_rows(options);
}

}  // namespace fathom::benchmarks
