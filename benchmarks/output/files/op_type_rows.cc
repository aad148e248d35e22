#include "benchmarks/output/files/op_type_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <span>
#include <string>

namespace fathom::benchmarks {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

using Profiles = std::vector<const StepProfile*>;  ///< one for each repetition

/// The time of one op type in one repetition.
struct Part {
  const StepProfile* profile;
  ops::OpTime time;  ///< all zero where the repetition did not run the type

  double real() const { return time.seconds / static_cast<double>(profile->steps); }
  /// LibTorch's threads work on one op at a time, so each op gets its share of the steps' CPU time.
  double cpu() const { return real() * profile->cpu_seconds / profile->ops.seconds; }
};

std::vector<Part> parts_of(const std::string& type, const Profiles& profiles) {
  std::vector<Part> parts;
  for (const auto* profile : profiles) {
    const auto& ops = profile->ops.ops;
    const auto found =
        std::find_if(ops.begin(), ops.end(), [&](const auto& op) { return op.type == type; });
    parts.push_back({profile, found == ops.end() ? ops::OpTime{} : *found});
  }
  return parts;
}

/// A mean, median, stddev or cv as Google Benchmark computes it.
double statistic(const std::string& aggregate, std::vector<double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (aggregate == "mean") return mean;
  if (aggregate == "median") {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  }
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = count > 1 ? std::sqrt(squares / (count - 1)) : 0;
  return aggregate == "cv" ? deviation / mean : deviation;
}

Run op_run(const Run& row, const std::string& type, const Profiles& profiles) {
  const auto parts = parts_of(type, profiles);
  Run run = row;
  run.run_name = op_row_name(row.run_name, type);
  run.counters.clear();
  const auto known = std::find_if(parts.begin(), parts.end(),
                                  [&](const Part& part) { return part.time.type == type; });
  run.report_label = ops::name(known->time.op_class);
  if (row.run_type == Run::RT_Iteration) {
    const Part& part = parts[static_cast<std::size_t>(row.repetition_index)];
    const auto steps = static_cast<double>(part.profile->steps);
    run.iterations = part.profile->steps;
    run.real_accumulated_time = part.real() * steps;
    run.cpu_accumulated_time = part.cpu() * steps;
    run.counters["pct_of_step"] = 100 * part.time.seconds / part.profile->ops.seconds;
    if (part.time.count > 0) {
      run.counters["calls_per_step"] = static_cast<double>(part.time.count) / steps;
    }
    return run;
  }
  std::vector<double> real;
  std::vector<double> cpu;
  for (const auto& part : parts) {
    real.push_back(part.real());
    cpu.push_back(part.cpu());
  }
  // Google Benchmark divides times, not shares, by an aggregate's repetitions.
  const double scale = row.aggregate_name == "cv" ? 1 : static_cast<double>(row.iterations);
  run.real_accumulated_time = statistic(row.aggregate_name, real) * scale;
  run.cpu_accumulated_time = statistic(row.aggregate_name, cpu) * scale;
  return run;
}

}  // namespace

benchmark::BenchmarkName op_row_name(benchmark::BenchmarkName row, const std::string& type) {
  row.function_name += "/op:" + type;
  return row;
}

std::vector<Run> op_type_rows(const std::vector<Run>& runs,
                              std::span<const TimedPass> repetitions) {
  Profiles profiles;
  for (const auto& pass : repetitions) {
    if (!pass.op_types) return {};
    profiles.push_back(&*pass.op_types);
  }
  std::vector<std::string> types;  // in the order of the first repetition's times
  std::set<std::string> seen;
  for (const auto* profile : profiles) {
    for (const auto& op : profile->ops.ops) {
      if (seen.insert(op.type).second) types.push_back(op.type);
    }
  }
  std::vector<Run> rows;
  for (const auto& type : types) {
    for (const auto& run : runs) rows.push_back(op_run(run, type, profiles));
  }
  return rows;
}

}  // namespace fathom::benchmarks
