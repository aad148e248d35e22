#include "benchmarks/rows/presets.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "benchmarks/error.h"
#include "benchmarks/rows/row_parts.h"
#include "models/table.h"
#include "ops/types/shapes.h"

namespace fathom::benchmarks {
namespace {

using models::Mode;

// Changes of the axes, and what a part needs.

void keep_axes(Axes& /*axes*/, const Options& /*options*/) {}

void keep_max_threads(Axes& axes, const Options& /*options*/) {
  axes.threads = {*std::max_element(axes.threads.begin(), axes.threads.end())};
}

bool is_any(const Row& /*row*/, const Options& /*options*/) { return true; }

/// Rows of one maker, made with changed axes, then reduced to those that a preset needs.
struct Part {
  /// What is recorded beside what the options ask for.
  struct Records {
    Profiling profiling = Profiling::kNone;  ///< of steps
    bool memory = false;                     ///< of steps
    bool samples = false;                    ///< in the file of --fathom_samples, if there is one
  };

  std::vector<Row> (*make)(const Axes&, const Conditions&);
  void (*change)(Axes&, const Options&) = keep_axes;
  bool (*needs)(const Row&, const Options&) = is_any;
  Records records = {};
};

constexpr std::array<Part, 4> kAllRows{{
    {step_rows, keep_axes, is_any, {.samples = true}},
    {op_rows, keep_axes, is_any, {.samples = true}},
    {collective_rows, keep_axes, is_any, {.samples = true}},
    {fixture_rows, keep_axes, is_any, {.samples = true}},
}};

// --fathom_explain: a step, and its ops on every backend.

void explain_step(Axes& axes, const Options& options) {
  if (!options.was_typed("--fathom_threads")) keep_max_threads(axes, options);
  if (!asks_for(axes, ops::Backend::kLibrary)) axes.library = nullptr;
  axes.backends.push_back(ops::Backend::kTorch);
}

void explain_ops(Axes& axes, const Options& options) {
  if (!options.was_typed("--fathom_threads")) keep_max_threads(axes, options);
  axes.backends.clear();
  axes.caches = {Cache::kHot, Cache::kCold};
}

/// A replayed graph calls no ops that could be listed.
bool is_explained(const Row& row, const Options& options) {
  return row.step == options.explain && !row.cuda_graph;
}

/// torch_packed answers a question about single ops, which no figure asks.
bool may_be_shown(const Row& row) { return row.op->backend != ops::Backend::kTorchPacked; }

/// Cold rows are needed only where a hot call finds its buffers in the caches.
bool is_op_of_explained(const Row& row, const Options& options) {
  const ops::ShapeRow& shape = *row.op->shape;
  const bool train = options.explain->mode == Mode::kTrain;
  return shape.workload == options.explain->workload &&
         (train ? shape.count : shape.infer_count) > 0 && may_be_shown(row) &&
         (row.op->cache == Cache::kHot || !exceeds_caches(row));
}

constexpr std::array<Part, 2> kExplanation{{
    {step_rows, explain_step, is_explained, {.profiling = Profiling::kOpShapes, .samples = true}},
    {op_rows, explain_ops, is_op_of_explained, {.samples = true}},
}};

// --fathom_study: the rows that the figures of a report need.

/// How much of a workload a study measures. Each value includes the previous ones.
enum class Share {
  kNothing,
  kSteps,      ///< rows of steps, with op types and memory
  kOps,        ///< also rows of single ops
  kStepTimes,  ///< also the time of every single step
};

/// The share of each workload in the study of a paper. The full study has all that is not a variant
/// of another workload, and what a figure compares with it.
struct StudyShare {
  std::string_view workload;
  Study study;
  Share share;
};

constexpr std::array<StudyShare, 29> kShares{{
    {"seq2seq", Study::kFathom, Share::kStepTimes},
    {"memnet", Study::kFathom, Share::kStepTimes},
    {"speech_150", Study::kFathom, Share::kSteps},
    {"autoenc", Study::kFathom, Share::kStepTimes},
    {"residual", Study::kFathom, Share::kOps},
    {"vgg", Study::kFathom, Share::kSteps},
    {"alexnet", Study::kFathom, Share::kSteps},
    {"deepq", Study::kFathom, Share::kStepTimes},
    {"resnet50", Study::kTbd, Share::kStepTimes},
    {"inception_v3", Study::kTbd, Share::kStepTimes},
    {"nmt", Study::kTbd, Share::kStepTimes},
    {"transformer", Study::kTbd, Share::kStepTimes},
    {"wgan", Study::kTbd, Share::kStepTimes},
    {"faster_rcnn", Study::kTbd, Share::kStepTimes},
    {"a3c", Study::kTbd, Share::kStepTimes},
    {"deepspeech2", Study::kTbd, Share::kStepTimes},
    {"gpt2_decode", Study::kFull, Share::kStepTimes},
    {"gpt2", Study::kModern, Share::kStepTimes},
    {"gpt2_decode", Study::kModern, Share::kStepTimes},
    {"llama", Study::kModern, Share::kStepTimes},
    {"llama_decode", Study::kModern, Share::kStepTimes},
    {"llama_ragged_decode", Study::kModern, Share::kOps},
    {"llama_1b", Study::kModern, Share::kStepTimes},
    {"llama_1b_decode", Study::kModern, Share::kStepTimes},
    {"moe", Study::kModern, Share::kStepTimes},
    {"moe_6", Study::kModern, Share::kStepTimes},
    {"moe_decode", Study::kModern, Share::kStepTimes},
    {"mamba", Study::kModern, Share::kStepTimes},
    {"mamba_decode", Study::kModern, Share::kStepTimes},
}};

Share share_of(const Row& row, const Options& options) {
  if (row.step && row.step->mode == Mode::kGenerate && options.study != Study::kModern)
    return Share::kNothing;
  const std::string& workload = row.step ? row.step->workload : row.op->shape->workload;
  for (const auto& one : kShares) {
    if (one.workload == workload && one.study == options.study) return one.share;
  }
  const bool full = options.study == Study::kFull && models::workload(workload).variant_of.empty();
  return full ? Share::kStepTimes : Share::kNothing;
}

void keep_min_threads_hot_and_cold(Axes& axes, const Options& /*options*/) {
  axes.threads = {*std::min_element(axes.threads.begin(), axes.threads.end())};
  axes.caches = {Cache::kHot, Cache::kCold};
}

void sweep_batches(Axes& axes, const Options& options) {
  keep_max_threads(axes, options);
  axes.batch_scales = {0.25, 0.5, 1};
}

void sweep_batches_to_double(Axes& axes, const Options& options) {
  sweep_batches(axes, options);
  axes.batch_scales.push_back(2);
}

/// Prompts of other lengths.
void sweep_prompts(Axes& axes, const Options& options) {
  keep_max_threads(axes, options);
  axes.contexts = {64, 256, 1'024, 2'048};
}

/// Decoding at other batch sizes and contexts.
void sweep_contexts(Axes& axes, const Options& options) {
  keep_max_threads(axes, options);
  axes.batches = {1, 4, 16};
  axes.contexts = {512, 2'048, 4'096};
}

void run_tuned_kernels(Axes& axes, const Options& options) {
  keep_max_threads(axes, options);
  axes.backends = {ops::Backend::kTuned};
}

void run_other_kernels(Axes& axes, const Options& options) {
  keep_max_threads(axes, options);
  axes.backends = {ops::Backend::kOneDnn, ops::Backend::kTuned};
}

bool has_steps(const Row& row, const Options& options) {
  return share_of(row, options) != Share::kNothing;
}

bool has_step_times(const Row& row, const Options& options) {
  return share_of(row, options) == Share::kStepTimes;
}

bool has_steps_only(const Row& row, const Options& options) {
  return has_steps(row, options) && !has_step_times(row, options);
}

/// Choosing kernels takes a dozen steps, and those of generation are long.
bool has_single_steps(const Row& row, const Options& options) {
  return has_steps(row, options) && row.step->mode != Mode::kGenerate;
}

bool infers(const Row& row, const Options& options) {
  return row.step->mode == Mode::kInfer && has_steps(row, options);
}

bool trains(const Row& row, const Options& options) {
  return row.step->mode == Mode::kTrain && has_steps(row, options);
}

bool reads_prompt(const Row& row, const Options& options) {
  return has_steps(row, options) &&
         models::reads_prompt(models::workload(row.step->workload), row.step->mode);
}

bool decodes(const Row& row, const Options& options) {
  return has_step_times(row, options) && models::workload(row.step->workload).context.decodes;
}

/// Cold rows are needed only of the backend that the steps use.
bool is_needed_op(const Row& row, const Options& options) {
  return share_of(row, options) >= Share::kOps && may_be_shown(row) &&
         (row.op->cache == Cache::kHot || row.op->in_steps);
}

/// TBD compares the ops of a step with the step.
bool is_op_of_step(const Row& row, const Options& options) {
  return share_of(row, options) >= Share::kOps && row.op->in_steps;
}

constexpr std::array<Part, 5> kFathomStudy{{
    {step_rows, keep_axes, has_step_times, {.profiling = Profiling::kOpTypes, .samples = true}},
    {step_rows, keep_axes, has_steps_only, {.profiling = Profiling::kOpTypes}},
    {step_rows, keep_max_threads, infers, {.memory = true}},
    {step_rows, sweep_batches, trains, {.memory = true}},
    {op_rows, keep_min_threads_hot_and_cold, is_needed_op},
}};

constexpr std::array<Part, 4> kTbdStudy{{
    {step_rows, keep_max_threads, has_steps, {.profiling = Profiling::kOpTypes, .samples = true}},
    {step_rows, keep_max_threads, infers, {.memory = true}},
    {step_rows, sweep_batches, trains, {.memory = true}},
    {op_rows, keep_max_threads, is_op_of_step},
}};

constexpr std::array<Part, 5> kFullStudy{{
    {step_rows, keep_axes, has_steps, {.profiling = Profiling::kOpTypes, .samples = true}},
    {step_rows, keep_max_threads, infers, {.memory = true}},
    {step_rows,
     sweep_batches_to_double,
     trains,
     {.profiling = Profiling::kOpTypes, .memory = true}},
    {op_rows, keep_min_threads_hot_and_cold, is_needed_op},
    {step_rows, run_other_kernels, has_steps},
}};

constexpr std::array<Part, 6> kModernStudy{{
    {step_rows, keep_max_threads, has_steps, {.profiling = Profiling::kOpTypes, .samples = true}},
    {step_rows, keep_max_threads, infers, {.memory = true}},
    {step_rows, sweep_prompts, reads_prompt},
    {step_rows, sweep_contexts, decodes},
    {op_rows, keep_max_threads, is_op_of_step},
    {step_rows, run_tuned_kernels, has_single_steps},
}};

std::span<const Part> parts_of(const Options& options) {
  if (options.explain) return kExplanation;
  if (!options.study) return kAllRows;
  switch (*options.study) {
    case Study::kFathom:
      return kFathomStudy;
    case Study::kTbd:
      return kTbdStudy;
    case Study::kFull:
      return kFullStudy;
    case Study::kModern:
      return kModernStudy;
  }
  return {};
}

/// Sets what is recorded of a row of the part.
void record(Row& row, const Part::Records& of_part, const Recording& asked) {
  const bool is_step = row.step && row.ranks == 0;
  if (is_step && of_part.profiling != Profiling::kNone) {
    row.profiling = of_part.profiling;
  } else if (is_step && asked.profile) {
    row.profiling = Profiling::kOpTypes;
  }
  if (!of_part.memory && !asked.memory) row.memory = {};
  row.samples = of_part.samples && !asked.samples.empty();
}

}  // namespace

std::vector<Row> make_rows(const Options& options) {
  std::vector<Row> rows;
  std::map<std::string, std::pair<const Part*, std::size_t>> places;
  for (const auto& part : parts_of(options)) {
    Axes axes = options.axes;
    part.change(axes, options);
    for (auto& row : part.make(axes, options.conditions)) {
      if (!part.needs(row, options)) continue;
      record(row, part.records, options.recording);
      const auto [place, added] = places.try_emplace(row.name, &part, rows.size());
      if (added) {
        rows.push_back(std::move(row));
      } else if (place->second.first == &part) {
        throw UsageError(row.name + ": two rows have this name, expected one");
      } else if (row.memory != nullptr) {
        rows[place->second.second].memory = row.memory;
      }
    }
  }
  return rows;
}

}  // namespace fathom::benchmarks
