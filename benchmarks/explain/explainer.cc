#include "benchmarks/explain/explainer.h"

#include <algorithm>

#include "ops/types/shapes.h"

namespace fathom::benchmarks {
namespace {

using Run = RowResult::Run;

double median_us(const std::vector<TimedPass>& repetitions) {
  std::vector<double> sorted;
  for (const auto& pass : repetitions) sorted.push_back(pass.median_us);
  const auto middle = sorted.begin() + std::ssize(sorted) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

/// The larger of an op's shares: the one that bounds it.
std::optional<PeakShare> peak_share(const benchmark::UserCounters& counters) {
  std::optional<PeakShare> larger;
  for (const std::string_view of : {"flops", "bytes"}) {
    const auto found = counters.find(std::string(of) + "_pct_peak");
    if (found == counters.end() || (larger && found->second.value <= larger->percent)) continue;
    larger = PeakShare{.of = of, .percent = found->second.value};
  }
  return larger;
}

}  // namespace

void Explainer::add(const RowResult& result) {
  ran_ = true;
  const auto mean = std::find_if(result.runs.begin(), result.runs.end(),
                                 [](const Run& run) { return run.run_type == Run::RT_Aggregate; });
  const bool whole = result.failures.empty() || mean != result.runs.end();
  if (!whole || result.repetitions.empty()) return;
  const Run& run = mean == result.runs.end() ? result.runs.front() : *mean;
  measured_[result.row->name] = {.us = median_us(result.repetitions),
                                 .peak = peak_share(run.counters),
                                 .profile = result.repetitions.back().op_shapes};
}

std::vector<Explanation> Explainer::explanations(const StepName& step) const {
  std::vector<Explanation> all;
  if (!ran_) return all;
  for (const auto& row : rows_) {
    if (!row.op) all.push_back(explanation(row, step));
  }
  return all;
}

Explanation Explainer::explanation(const Row& model, const StepName& step) const {
  std::vector<ExplainedOp> ops;
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
                     .in_steps = row.op->backend,
                     .hot_us = {}});
    }
    ExplainedOp& op = ops[places.at(shape.name())];
    if (row.op->in_steps) op.in_steps = row.op->backend;
    const Measured* found = measured(row);
    if (found == nullptr) continue;
    if (row.op->in_steps && (row.op->cache == Cache::kCold || row.op->exceeds_caches)) {
      op.cold_us = found->us;
    }
    if (row.op->cache == Cache::kCold) continue;
    op.hot_us[row.op->backend] = found->us;
    if (row.op->in_steps) op.peak = found->peak;
  }
  const Setting setting{
      .step = step, .device = model.device, .threads = model.threads, .precision = model.precision};
  const Measured* found = measured(model);
  if (found == nullptr) return explain(setting, std::nullopt, std::move(ops), nullptr);
  const auto& profile = found->profile;
  return explain(setting, found->us, std::move(ops),
                 profile && profile->steps > 0 ? &*profile : nullptr);
}

const Explainer::Measured* Explainer::measured(const Row& row) const {
  const auto found = measured_.find(row.name);
  return found == measured_.end() ? nullptr : &found->second;
}

}  // namespace fathom::benchmarks
