#include "benchmarks/explain/explainer.h"

#include <algorithm>
#include <span>

namespace fathom::benchmarks {
namespace {

double median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
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

void Explainer::ReportRuns(const std::vector<Run>& runs) {
  ran_ = true;
  const Run& first = runs.front();
  const bool complete =
      std::none_of(runs.begin(), runs.end(), [](const Run& run) { return failed(run); });
  const std::string& name = first.run_name.function_name;
  const auto medians = repetitions(loop_.medians_us(name), first);
  if (complete && !medians.empty()) {
    measured_[name] = {.us = median(medians), .peak = peak_share(first.counters)};
  }
  next_.ReportRuns(runs);
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
    const auto found = measured_.find(row.name);
    if (found == measured_.end()) continue;
    if (row.op->in_steps && (row.op->cache == Cache::kCold || row.op->cold_anyway)) {
      op.cold_us = found->second.us;
    }
    if (row.op->cache == Cache::kCold) continue;
    op.hot_us[row.op->backend] = found->second.us;
    if (row.op->in_steps) op.peak = found->second.peak;
  }
  const Setting setting{
      .step = step, .device = model.device, .threads = model.threads, .precision = model.precision};
  const auto found = measured_.find(model.name);
  if (found == measured_.end()) return explain(setting, std::nullopt, std::move(ops), nullptr);
  const auto& shapes = loop_.shapes(model.name);
  return explain(setting, found->second.us, std::move(ops),
                 shapes.empty() || shapes.back().steps == 0 ? nullptr : &shapes.back());
}

}  // namespace fathom::benchmarks
