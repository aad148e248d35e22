#include "benchmarks/output/reporter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "benchmarks/output/files/op_type_rows.h"
#include "benchmarks/output/files/sample_lines.h"

namespace fathom::benchmarks {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

/// The passes of the row's repetitions, which are the last ones: with earlier passes Google
/// Benchmark searches for an iteration count.
std::vector<TimedPass> repetitions(std::vector<TimedPass> passes) {
  const int64_t iterations = passes.empty() ? 0 : passes.back().iterations;
  std::erase_if(passes, [&](const TimedPass& pass) { return pass.iterations != iterations; });
  return passes;
}

/// Whether Google Benchmark will report aggregates of these runs.
bool has_aggregates(const std::vector<Run>& runs) {
  return runs.front().run_type == Run::RT_Iteration &&
         std::count_if(runs.begin(), runs.end(), [](const Run& run) { return !failed(run); }) > 1;
}

/// A measured run without values that JSON or the console cannot show.
Run cleaned(Run run) {
  std::erase_if(run.counters,
                [](const auto& counter) { return !std::isfinite(counter.second.value); });
  for (auto& [name, counter] : run.counters) {
    if (name.ends_with("_pct_peak")) counter.flags = benchmark::Counter::kDefaults;
  }
  return run;
}

}  // namespace

bool Reporter::ReportContext(const Context& context) {
  before_();
  for (auto* sink : sinks_) sink->begin(context);
  return true;
}

void Reporter::ReportRuns(const std::vector<Run>& runs) {
  const auto place = static_cast<std::size_t>(runs.front().family_index);
  const Row& row = rows_[place];
  if (pending_ && pending_->row != &row) finish();
  if (!pending_) {
    RowRecord record = std::exchange(records_[place], {});
    pending_ = RowResult{.row = &row,
                         .choice = std::move(record.choice),
                         .left_out = record.left_out,
                         .repetitions = repetitions(std::move(record.passes))};
    if (record.failure)
      pending_->failure = failed_run(row, runs.front().family_index, *record.failure);
  }
  if (!pending_->failure && !pending_->left_out) add_runs(runs, *pending_);
  if (!has_aggregates(runs)) finish();
}

void Reporter::Finalize() {
  if (pending_) finish();
  for (auto* sink : sinks_) sink->end();
}

void Reporter::pass_on(const RowResult& result) {
  for (auto* sink : sinks_) sink->add(result);
}

std::vector<std::size_t> Reporter::take_again() {
  if (pending_) finish();
  return std::exchange(again_, {});
}

void Reporter::finish() {
  if (!keeps_back(*pending_)) pass_on(*pending_);
  pending_.reset();
}

bool Reporter::keeps_back(const RowResult& result) {
  constexpr int kTries = 3;
  double longest = 0;
  for (const auto& pass : result.repetitions) longest = std::max(longest, pass.standstill);
  if (note_ == nullptr || longest == 0 || result.failure) return false;
  const auto place = static_cast<std::size_t>(result.row - rows_.data());
  const bool again = ++tries_[place] < kTries;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.2g s", longest);
  note_(result.row->name + ": this process stood still for " + seconds +
        " while the row was measured (stopped, frozen, or waiting for a disk); " +
        (again ? "it is measured again after the other rows"
               : "as in each of " + std::to_string(kTries) + " tries, so its time is too long"));
  if (again) again_.push_back(place);
  return again;
}

Run failed_run(const Row& row, int64_t family, const Failure& why) {
  Run run;
  run.run_name.function_name = row.name;
  run.run_name.time_type = std::string(kNameSuffix).substr(1);
  run.family_index = family;
  run.repetition_index = why.repetition;
  fail(run, why.reason);
  return run;
}

void add_runs(const std::vector<Run>& runs, RowResult& result) {
  std::vector<Run> measured;
  for (const auto& run : runs) measured.push_back(cleaned(run));
  const auto op_types = op_type_rows(measured, result.repetitions);
  // Once a row: its aggregates come in a second call, and alone with
  // --benchmark_report_aggregates_only.
  if (result.row->samples && result.runs.empty())
    result.samples += sample_lines(measured, result.repetitions);
  result.runs.insert(result.runs.end(), measured.begin(), measured.end());
  result.runs.insert(result.runs.end(), op_types.begin(), op_types.end());
}

}  // namespace fathom::benchmarks
