#include "benchmarks/rows/study.h"

#include <algorithm>
#include <array>

#include "benchmarks/error.h"
#include "benchmarks/options/preset.h"
#include "fixtures/files/written_file.h"
#include "models/table.h"
#include "ops/types/shapes.h"

namespace fathom::benchmarks {
namespace {

using models::StudyShare;

constexpr std::array<Conflict, 8> kConflicts{{
    {"--fathom_explain", "which has rows of its own"},
    {"--fathom_record", "which measures nothing"},
    {"--fathom_batch", "it sweeps batches around the default"},
    {"--fathom_cache", "it runs ops hot and cold"},
    {"--fathom_backend", "which it sets itself"},
    {"--fathom_profile", "it profiles the steps that its figures need"},
    {"--fathom_memory", "it measures the memory of the steps that its figures need"},
    {"--fathom_shapes", "its op shapes are those of the workloads"},
}};

void keep_max_threads(Options& options) {
  options.threads = {*std::max_element(options.threads.begin(), options.threads.end())};
}

void keep_min_threads(Options& options) {
  options.threads = {*std::min_element(options.threads.begin(), options.threads.end())};
}

void profile(Options& options) { options.profile = true; }

void measure_memory(Options& options) {
  keep_max_threads(options);
  options.memory = true;
}

void sweep_batches(Options& options) {
  measure_memory(options);
  options.batch_scales = {0.25, 0.5, 1};
  if (options.study != Study::kFull) return;
  options.profile = true;
  options.batch_scales.push_back(2);
}

void run_other_kernels(Options& options) {
  keep_max_threads(options);
  options.backends = {ops::Backend::kOneDnn, ops::Backend::kTuned};
}

void run_ops_hot_and_cold(Options& options) {
  keep_min_threads(options);
  options.caches = {Cache::kHot, Cache::kCold};
}

StudyShare share(Study study, const std::string& workload) {
  const models::Studies& studies = models::workload(workload).studies;
  switch (study) {
    case Study::kFathom:
      return studies.fathom;
    case Study::kTbd:
      return studies.tbd;
    case Study::kFull:
      return studies.full;
  }
  return StudyShare::kNothing;
}

const std::string& workload_of(const Row& row) {
  return row.step ? row.step->workload : row.op->shape->workload;
}

bool has_step_times(const Row& row, StudyShare share) {
  return row.step && share == StudyShare::kStepTimes;
}

bool has_steps_only(const Row& row, StudyShare share) {
  return row.step && (share == StudyShare::kSteps || share == StudyShare::kOps);
}

bool has_steps(const Row& row, StudyShare share) {
  return row.step && share != StudyShare::kNothing;
}

bool infers(const Row& row, StudyShare share) {
  return row.step && row.step->mode == models::Mode::kInfer && share != StudyShare::kNothing;
}

bool trains(const Row& row, StudyShare share) {
  return row.step && row.step->mode == models::Mode::kTrain && share != StudyShare::kNothing;
}

/// Cold rows are needed only of the backend that the steps use.
bool is_needed_op(const Row& row, StudyShare share) {
  return row.op && share >= StudyShare::kOps && (row.op->cache == Cache::kHot || row.op->in_steps);
}

/// TBD compares the ops of a step with the step.
bool is_op_of_step(const Row& row, StudyShare share) {
  return row.op && share >= StudyShare::kOps && row.op->in_steps;
}

bool in_all(Study /*study*/) { return true; }
bool in_tbd(Study study) { return study == Study::kTbd; }
bool in_others_than_tbd(Study study) { return study != Study::kTbd; }
bool in_full(Study study) { return study == Study::kFull; }

/// A group of rows: made with changed options, then reduced to those that the study needs.
struct Part {
  std::vector<Row> (*make)(const Options&);
  void (*change)(Options&);
  bool (*needs)(const Row&, StudyShare);
  bool samples = false;  ///< keeps the time of every step
  bool (*belongs)(Study) = in_all;
};

constexpr std::array<Part, 7> kParts{{
    {step_rows, profile, has_step_times, /*samples=*/true},
    {step_rows, profile, has_steps_only},
    {step_rows, measure_memory, infers},
    {step_rows, sweep_batches, trains},
    {op_rows, run_ops_hot_and_cold, is_needed_op, /*samples=*/false, in_others_than_tbd},
    {op_rows, keep_max_threads, is_op_of_step, /*samples=*/false, in_tbd},
    {step_rows, run_other_kernels, has_steps, /*samples=*/false, in_full},
}};

/// Assumes the smallest number of steps that measure/loop.cc and tasks/op_task.cc run.
double expected_seconds(const Row& row, int repetitions, const Peaks& peaks) {
  constexpr double kShareOfPeak = 0.6;
  constexpr double kBytesPerSecond = 1e10;
  constexpr int kComparedSteps = 14;  // and those that choose the layout
  constexpr double kSetUp = 0.3;      // and Google Benchmark's search for an iteration count
  const Peak* peak = peaks.find({row.device, row.threads * row.ranks_here, row.precision});
  if (!row.cost || peak == nullptr || peak->rate <= 0) return 1;
  const double step =
      row.cost->flops / (kShareOfPeak * peak->rate) + row.cost->bytes / kBytesPerSecond;
  const double once = 2 + (row.op ? 4 : 0) + (row.memory != nullptr ? 2 : 0) +
                      (row.own_process ? kComparedSteps : 0);
  const double each_time = 3 + (row.profiling != Profiling::kNone ? 2 : 0);
  return (once + repetitions * each_time) * step + kSetUp;
}

}  // namespace

void resolve_study(Options& options) {
  if (!options.study) return;
  refuse_conflicts("--fathom_study", kConflicts, options);
  if (options.out.empty()) throw UsageError("--fathom_study: needs --benchmark_out=FILE, in JSON");
  if (options.samples.empty() && fixtures::is_plain_file(options.out))
    options.samples = options.out + ".samples.jsonl";
  shorten_rows(options);
}

std::vector<Row> study_rows(const Options& options) {
  std::vector<Row> rows;
  std::map<std::string, std::size_t> places;
  for (const auto& part : kParts) {
    if (!part.belongs(*options.study)) continue;
    Options changed = options;
    if (options.study == Study::kTbd) keep_max_threads(changed);
    if (!part.samples) changed.samples.clear();
    part.change(changed);
    for (auto& row : part.make(changed)) {
      if (!part.needs(row, share(*options.study, workload_of(row)))) continue;
      const auto [place, added] = places.try_emplace(row.name, rows.size());
      if (added) {
        rows.push_back(std::move(row));
      } else if (row.memory != nullptr) {
        rows[place->second].memory = row.memory;
      }
    }
  }
  return rows;
}

std::map<std::string, double> expected_seconds(const std::vector<Row>& rows, int repetitions,
                                               const Peaks& peaks) {
  std::map<std::string, double> seconds;
  for (const auto& row : rows) seconds[row.name] = expected_seconds(row, repetitions, peaks);
  return seconds;
}

}  // namespace fathom::benchmarks
