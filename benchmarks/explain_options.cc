#include "benchmarks/explain_options.h"

#include <array>
#include <utility>
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/google_benchmark_flags.h"
#include "benchmarks/nearest.h"
#include "models/table.h"

namespace fathom::benchmarks {
namespace {

/// Options that an explanation settles itself, and why.
constexpr std::array<std::pair<const char*, const char*>, 6> kOthers{{
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

void settle_explanation(const std::string& typed, const std::function<bool(const char*)>& given,
                        Options& options) {
  options.explain = step_name(typed);
  options.caches = {Cache::kHot, Cache::kCold};
  const auto refuse = [](const std::string& flag, const std::string& why) {
    throw UsageError("--fathom_explain: not together with " + flag + ", " + why);
  };
  for (const auto& [flag, why] : kOthers) {
    if (given(flag)) refuse(flag, why);
  }
  auto& arguments = options.google_benchmark;
  const auto set = [&](const char* flag, const char* variable) {
    return !google_benchmark_value(arguments, flag, variable, "").empty();
  };
  if (set("--benchmark_filter", "BENCHMARK_FILTER")) {
    refuse("--benchmark_filter", "it chooses its rows itself");
  }
  if (!set("--benchmark_min_time", "BENCHMARK_MIN_TIME")) {
    arguments.emplace_back("--benchmark_min_time=0.05");
  }
}

}  // namespace fathom::benchmarks
