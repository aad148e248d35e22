#include "benchmarks/output/json_runs.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

/// Numbers of an entry that are no counters.
const std::set<std::string> kOwn{"family_index", "per_family_instance_index",
                                 "repetitions",  "repetition_index",
                                 "threads",      "iterations",
                                 "real_time",    "cpu_time"};

/// The console prints these a second.
const std::set<std::string> kRates{"items_per_second", "flops", "bytes"};

/// `name` with the suffix that Google Benchmark appends, which is the name's time type.
benchmark::BenchmarkName benchmark_name(const std::string& name) {
  const std::string suffix = kNameSuffix;
  benchmark::BenchmarkName made;
  made.function_name = name.substr(0, name.size() - suffix.size());
  made.time_type = suffix.substr(1);
  return made;
}

Run run_of(const nlohmann::json& entry, int64_t family) {
  Run run;
  run.run_name = benchmark_name(entry.at("run_name"));
  run.family_index = family;
  run.per_family_instance_index = 0;
  run.repetitions = entry.at("repetitions");
  run.repetition_index =
      entry.value("repetition_index", static_cast<int64_t>(Run::no_repetition_index));
  run.threads = entry.at("threads");
  run.iterations = entry.at("iterations");
  run.time_unit = benchmark::kMicrosecond;
  run.report_label = entry.value("label", "");
  // Google Benchmark divides times, not shares, by the iterations.
  double scale = static_cast<double>(run.iterations) / 1e6;
  if (entry.at("run_type") == "aggregate") {
    run.run_type = Run::RT_Aggregate;
    run.aggregate_name = entry.at("aggregate_name");
    if (entry.at("aggregate_unit") == "percentage") {
      run.aggregate_unit = benchmark::kPercentage;
      scale = 1;
    }
  }
  run.real_accumulated_time = entry.at("real_time").get<double>() * scale;
  run.cpu_accumulated_time = entry.at("cpu_time").get<double>() * scale;
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_number() || kOwn.contains(key)) continue;
    run.counters[key] = benchmark::Counter(
        value, kRates.contains(key) ? benchmark::Counter::kIsRate : benchmark::Counter::kDefaults);
  }
  return run;
}

}  // namespace

std::vector<Run> runs_of(const nlohmann::json& document, int64_t family) {
  std::vector<Run> runs;
  for (const auto& entry : document.at("benchmarks")) runs.push_back(run_of(entry, family));
  return runs;
}

}  // namespace fathom::benchmarks
