#include "benchmarks/explain/explainer.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "benchmarks/output/reporter.h"
#include "ops/types/shapes.h"

namespace fathom::benchmarks {
namespace {

using Run = RowResult::Run;

Timing median_time(const std::vector<TimedPass>& repetitions) {
  std::vector<Timing> times;
  for (const auto& pass : repetitions) times.push_back({pass.median_us, pass.taken_us});
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end(),
                   [](const Timing& a, const Timing& b) { return a.us < b.us; });
  return *middle;
}

/// The median step of a run that another process wrote, or the mean of too few for a median.
double median_us(const Run& run) {
  const auto median = run.counters.find("p50_us");
  return median == run.counters.end() ? run.GetAdjustedRealTime() : median->second.value;
}

/// What others took of a step of a run that another process wrote.
std::optional<double> taken_us(const benchmark::UserCounters& counters) {
  TakenTime taken;
  const auto read = [&](const char* name, std::optional<double>& time) {
    if (const auto found = counters.find(name); found != counters.end()) time = found->second.value;
  };
  read("stolen_us", taken.stolen);
  read("waiting_us", taken.waiting);
  std::optional<double> still;
  read("standstill_us", still);
  return still ? taken.all().value_or(0) + *still : taken.all();
}

/// The larger of an op's shares of the two peaks.
std::optional<PeakShare> peak_share(const benchmark::UserCounters& counters) {
  std::optional<PeakShare> larger;
  for (const std::string_view of : {"flops", "bytes"}) {
    const auto found = counters.find(std::string(of) + "_pct_peak");
    if (found == counters.end() || (larger && found->second.value <= larger->percent)) continue;
    larger = PeakShare{.of = of, .percent = found->second.value};
  }
  return larger;
}

/// The time of a profiled step; a very long one where there is no profile.
Timing profile_time(const std::optional<ops::ShapeProfile>& profile,
                    std::optional<double> taken_us) {
  if (!profile || profile->steps == 0) return {std::numeric_limits<double>::infinity()};
  return {profile->seconds * 1e6 / static_cast<double>(profile->steps), taken_us};
}

std::vector<CalledOperator> called(const StepOperators& operators) {
  std::vector<CalledOperator> all;
  const auto steps = static_cast<double>(operators.steps);
  for (const auto& one : operators.all) {
    all.push_back({.name = one.name,
                   .calls = static_cast<double>(one.count) / steps,
                   .us = one.seconds * 1e6 / steps});
  }
  return all;
}

}  // namespace

void Explainer::add(const RowResult& result) {
  ran_ = true;
  const auto mean = std::find_if(result.runs.begin(), result.runs.end(),
                                 [](const Run& run) { return run.run_type == Run::RT_Aggregate; });
  if (result.runs.empty()) return;
  const Run& run = mean == result.runs.end() ? result.runs.front() : *mean;
  Measured found{.time = {median_us(run), taken_us(run.counters)},
                 .peak = peak_share(run.counters),
                 .label = run.report_label,
                 .choice = result.choice};
  if (!result.repetitions.empty()) {  // this process ran it
    const TimedPass& last = result.repetitions.back();
    found.time = median_time(result.repetitions);
    found.profile = last.op_shapes;
    found.profile_taken_us = last.profile_taken_us;
    found.operators = last.operators;
  }
  const auto [place, first] = measured_.try_emplace(result.row->name, found);
  if (first) return;
  Measured& kept = place->second;
  ++kept.measurements;
  if (is_better(found.time, kept.time)) {
    kept.time = found.time;
    kept.peak = found.peak;
  }
  if (is_better(profile_time(found.profile, found.profile_taken_us),
                profile_time(kept.profile, kept.profile_taken_us))) {
    kept.profile = std::move(found.profile);
    kept.profile_taken_us = found.profile_taken_us;
    kept.operators = std::move(found.operators);
  }
}

std::vector<Explanation> Explainer::explanations(const StepName& step) const {
  std::vector<Explanation> all;
  if (!ran_) return all;
  for (const auto& row : rows_) {
    if (!row.op && !row.own_process) all.push_back(explanation(row, step));
  }
  return all;
}

void Explainer::measure_again(const StepName& step, Loop& loop) {
  constexpr int kTimes = 3;
  for (int time = 0; time < kTimes; ++time) {
    const std::vector<Row> rows = contradictory_rows(step);
    if (rows.empty()) return;
    std::vector<RowRecord> records(rows.size());
    Reporter reporter(rows, records, {this}, [] {});
    loop.run_all(rows, records, reporter);
  }
}

Explanation Explainer::explanation(const Row& model, const StepName& step) const {
  std::vector<ExplainedOp> ops;
  std::vector<std::string> again;
  std::map<std::string, std::size_t> places;  // by the shape's name
  for (const auto& row : rows_) {
    if (!row.op || row.device != model.device || row.threads != model.threads ||
        row.precision != model.precision) {
      continue;
    }
    const ops::ShapeRow& shape = *row.op->shape;
    if (places.emplace(shape.name(), ops.size()).second) {
      ops.push_back({.type = std::string(shape.type->name),
                     .layer = shape.layer,
                     .pass = shape.pass,
                     .count = step.mode == models::Mode::kTrain ? shape.count : shape.infer_count,
                     .key = shape.key(),
                     .in_steps = row.backend,
                     .hot_us = {}});
    }
    ExplainedOp& op = ops[places.at(shape.name())];
    if (row.op->in_steps) op.in_steps = row.backend;
    const Measured* found = measured(row);
    if (found == nullptr) continue;
    if (found->measurements > 1) again.push_back(row.name);
    if (row.op->cache == Cache::kCold || exceeds_caches(row)) {
      op.cold_us[row.backend] = found->time.us;
      if (row.op->in_steps) op.cold_taken_us = found->time.taken_us;
    }
    if (row.op->cache == Cache::kCold) continue;
    op.hot_us[row.backend] = found->time.us;
    if (!row.op->in_steps) continue;
    op.peak = found->peak;
    op.hot_taken_us = found->time.taken_us;
    op.row = row.name;
  }
  const Setting setting{
      .step = step, .device = model.device, .threads = model.threads, .precision = model.precision};
  const Measured* found = measured(model);
  const bool profiled = found != nullptr && found->profile && found->profile->steps > 0;
  Explanation made =
      explain(setting, found == nullptr ? std::nullopt : std::optional(found->time.us),
              std::move(ops), profiled ? &*found->profile : nullptr);
  made.row = model.name;
  if (found != nullptr) {
    made.step_taken_us = found->time.taken_us;
    if (made.profiled) made.profiled->taken_us = found->profile_taken_us;
    if (found->measurements > 1) again.insert(again.begin(), model.name);
    if (found->operators) made.operators = called(*found->operators);
  }
  made.others = others(model);
  made.measured_again = std::move(again);
  return made;
}

std::vector<OtherStep> Explainer::others(const Row& model) const {
  std::vector<OtherStep> all;
  for (const auto& row : rows_) {
    if (row.op || !row.own_process || row.device != model.device || row.threads != model.threads ||
        row.precision != model.precision) {
      continue;
    }
    if (const Measured* found = measured(row)) {
      all.push_back({.backend = row.backend,
                     .time = found->time,
                     .label = found->label,
                     .choice = found->choice});
    }
  }
  return all;
}

/// In the order in which they run.
std::vector<Row> Explainer::contradictory_rows(const StepName& step) const {
  std::set<std::string> names;
  for (const auto& explanation : explanations(step)) {
    if (explanation.contradicts()) names.insert(explanation.row);
    for (const auto& line : explanation.lines) {
      if (!line.contradicts()) continue;
      for (const auto& op : line.ops) names.insert(op.row);
    }
  }
  std::vector<Row> rows;
  std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(rows),
               [&](const Row& row) { return names.contains(row.name); });
  return rows;
}

const Explainer::Measured* Explainer::measured(const Row& row) const {
  const auto found = measured_.find(row.name);
  return found == measured_.end() ? nullptr : &found->second;
}

}  // namespace fathom::benchmarks
