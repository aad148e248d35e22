#include "benchmarks/rows/study.h"

#include <algorithm>
#include <array>
#include <map>

#include "benchmarks/error.h"

namespace fathom::benchmarks {
namespace {

/// Options that a study settles itself, and why.
constexpr std::array<Settled, 8> kSettled{{
    {"--fathom_explain", "which has rows of its own"},
    {"--fathom_record", "which measures nothing"},
    {"--fathom_batch", "it sweeps batches around Fathom's"},
    {"--fathom_cache", "it runs ops hot and cold"},
    {"--fathom_backend", "it runs every backend"},
    {"--fathom_profile", "it watches the steps that its figures need"},
    {"--fathom_memory", "it weighs the steps that its figures need"},
    {"--fathom_shapes", "its op shapes are those of the workloads"},
}};

/// Rows of one kind: those that `filter` finds under options that differ from the user's.
struct Part {
  const char* filter;
  void (*change)(Options&);
  bool samples = false;  ///< each step's times are kept
};

void watch(Options& options) { options.profile = true; }

void keep_most_threads(Options& options) {
  options.threads = {*std::max_element(options.threads.begin(), options.threads.end())};
}

void keep_fewest_threads(Options& options) {
  options.threads = {*std::min_element(options.threads.begin(), options.threads.end())};
}

void weigh(Options& options) {
  keep_most_threads(options);
  options.memory = true;
}

void sweep_batches(Options& options) {
  weigh(options);
  options.batch_scales = {0.25, 0.5, 1};
}

void sweep_more_batches(Options& options) {
  weigh(options);
  options.profile = true;
  options.batch_scales = {0.25, 0.5, 1, 2};
}

void run_ops_hot_and_cold(Options& options) {
  keep_fewest_threads(options);
  options.caches = {Cache::kHot, Cache::kCold};
}

/// Of speech the short study takes the variant of 150 frames: a step of the full one takes minutes.
const std::vector<Part>& parts(Study study) {
  static const std::vector<Part> brief{
      {"^(memnet|autoenc|deepq|seq2seq)/", watch, /*samples=*/true},
      {"^(residual|vgg|alexnet|speech_150)/", watch},
      {"^(memnet|autoenc|deepq|seq2seq|residual|vgg|alexnet|speech_150)/infer/", weigh},
      {"^(memnet|autoenc|deepq|seq2seq|residual|vgg|alexnet|speech_150)/train/", sweep_batches},
      {"^op/[^/]*/(memnet|autoenc|deepq|seq2seq|residual)/", run_ops_hot_and_cold},
  };
  static const std::vector<Part> full{
      {"^(memnet|autoenc|deepq|seq2seq|residual|vgg|alexnet|speech)/", watch, /*samples=*/true},
      {"^(memnet|autoenc|deepq|seq2seq|residual|vgg|alexnet|speech)/infer/", weigh},
      {"^(memnet|autoenc|deepq|seq2seq|residual|vgg|alexnet|speech)/train/", sweep_more_batches},
      {"^op/[^/]*/(memnet|autoenc|deepq|seq2seq|residual|vgg|alexnet|speech)/",
       run_ops_hot_and_cold},
  };
  return study == Study::kShort ? brief : full;
}

/// Cold rows tell what the step's own code pays for memory.
bool is_needed(const Row& row) {
  return !row.op || row.op->cache == Cache::kHot || row.op->in_steps;
}

/// Steps are counted as benchmarks/loop.cc and op_task.cc run them at least.
double expected_seconds(const Row& row, Peaks& peaks) {
  constexpr double kShareOfPeak = 0.6;
  constexpr double kBytesPerSecond = 1e10;
  constexpr double kAround = 0.3;  // building small things, Google Benchmark's search for a count
  if (!row.cost) return 1;
  const double peak = peaks.flops(row.device, row.threads, row.precision).rate;
  const double step = row.cost->flops / (kShareOfPeak * peak) + row.cost->bytes / kBytesPerSecond;
  const double steps = 5 + (row.op ? 4 : 0) + (row.watch != Watch::kNothing ? 2 : 0) +
                       (row.memory != nullptr ? 2 : 0);
  return steps * step + kAround;
}

}  // namespace

void settle_study(const std::string& typed, const Given& given, Options& options) {
  const auto* const name = std::find(kStudyNames.begin(), kStudyNames.end(), typed);
  options.study = static_cast<Study>(name - kStudyNames.begin());
  refuse_beside("--fathom_study", kSettled, given);
  if (options.out.empty()) throw UsageError("--fathom_study: needs --benchmark_out=FILE, in JSON");
  if (options.samples.empty()) options.samples = options.out + ".samples.jsonl";
  shorten_rows(options);
}

std::vector<Row> study_rows(const Options& options) {
  std::vector<Row> rows;
  std::map<std::string, std::size_t> places;
  for (const auto& [filter, change, samples] : parts(*options.study)) {
    Options changed = options;
    if (!samples) changed.samples.clear();
    change(changed);
    for (auto& row : filtered(make_rows(changed), filter)) {
      if (!is_needed(row)) continue;
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

std::map<std::string, double> expected_seconds(const std::vector<Row>& rows, Peaks& peaks) {
  std::map<std::string, double> seconds;
  for (const auto& row : rows) seconds[row.name] = expected_seconds(row, peaks);
  return seconds;
}

}  // namespace fathom::benchmarks
