#include "benchmarks/isolate/isolation.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>

#include "benchmarks/error.h"
#include "benchmarks/isolate/child.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/preset.h"
#include "benchmarks/output/files/json.h"
#include "benchmarks/output/files/peaks_json.h"
#include "benchmarks/output/reporter.h"
#include "benchmarks/tasks/step_choice.h"
#include "fixtures/files/file.h"
#include "fixtures/files/text.h"
#include "fixtures/machine/memory.h"
#include "ops/core/backend.h"

namespace fathom::benchmarks {
namespace {

namespace fs = std::filesystem;
using Run = RowResult::Run;

constexpr std::array<Conflict, 2> kConflicts{{
    {"--fathom_explain", "which profiles a step and its ops in one process"},
    {"--fathom_record", "which measures nothing"},
}};

/// Options of this process that are not passed to a child as they are. A child inherits the choice
/// of --fathom_gpu with its environment.
constexpr std::array<std::string_view, 13> kNotPassed{
    "--fathom_device",        "--fathom_explain",       "--fathom_gpu",       "--fathom_isolate",
    "--fathom_limit_seconds", "--fathom_machine_check", "--fathom_peaks",     "--fathom_resume",
    "--fathom_samples",       "--benchmark_filter",     "--benchmark_format", "--benchmark_out",
    "--benchmark_out_format"};

constexpr std::string_view kMessagePrefix = "fathom_bench: ";  // of lines on stderr

constexpr std::array<std::string_view, 3> kOfRanks{"--fathom_bucket_mb", "--fathom_rank_seconds",
                                                   "--fathom_ranks"};

template <typename List>
bool holds(const List& list, std::string_view one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

/// Whether the process of a row gets an option. It has no launcher, and refuses options without an
/// effect.
bool is_passed(std::string_view flag, const Row& row) {
  if (flag == "--fathom_kernel_choice") return row.backend == name(ops::Backend::kTuned);
  return !holds(kNotPassed, flag) && (row.ranks > 0 || !holds(kOfRanks, flag));
}

/// Lines on stderr that are the program's own, without their prefix.
std::vector<std::string> messages(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kMessagePrefix)) lines.push_back(line.substr(kMessagePrefix.size()));
  }
  return lines;
}

/// "cpu,cuda".
std::string device_list(const std::vector<fixtures::Device>& devices) {
  std::string list;
  for (const auto device : devices) list += (list.empty() ? "" : ",") + std::string(name(device));
  return list;
}

/// Most of the free memory, in bytes.
double default_memory_limit() {
  const auto available = fixtures::available_memory();
  return available ? 0.95 * static_cast<double>(*available)
                   : std::numeric_limits<double>::infinity();
}

/// What a child's errors file says, which has a line where the only row failed. There is none where
/// the process ended before, as after a lost rank.
std::optional<Failure> failure_in_file(const std::string& path) {
  return failure_in_line(fixtures::first_line(fixtures::text_of_file(path)));
}

}  // namespace

void resolve_isolation(Options& options) {
  for (const char* flag : {"--fathom_limit_seconds", "--fathom_limit_gb"}) {
    if (!options.was_typed(flag)) continue;
    refuse_conflicts(flag, kConflicts, options);
    // The process of a row gets --fathom_isolate=false and the limit of its memory.
    if (!options.was_typed("--fathom_isolate")) options.isolate = true;
  }
  if (options.limit_gb) fixtures::limit_memory(*options.limit_gb * 1e9);
  if (options.isolate) refuse_conflicts("--fathom_isolate", kConflicts, options);
}

bool is_isolated(const Options& options, const Row& row) {
  return options.isolate || (row.own_process && !options.was_typed("--fathom_isolate"));
}

void check_isolation(const Options& options, const std::vector<Row>& rows) {
  const bool isolates = std::any_of(rows.begin(), rows.end(),
                                    [&](const Row& row) { return is_isolated(options, row); });
  if (isolates && options.out.empty() &&
      google_benchmark_has(options, "--benchmark_out", "BENCHMARK_OUT")) {
    throw UsageError(
        "--benchmark_out_format: rows in processes of their own are written as JSON only, expected "
        "json");
  }
  const auto changes =
      std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.own_process; });
  if (changes == rows.end() || is_isolated(options, *changes)) return;
  for (const auto& one : changes->switches) {
    if (!holds(options.typed, one))
      throw UsageError("--fathom_isolate=false: " + changes->name + " needs " + one);
  }
  // Kernels are chosen once a process, for one number of threads.
  const bool alone =
      rows.size() == 1 ||
      (changes->switches.empty() && std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
         return row.subject == rows[0].subject;
       }));
  if (alone) return;
  throw UsageError("--fathom_isolate=false: " + changes->name +
                   " changes LibTorch's kernels for the rows after it; expected a filter that "
                   "matches no other row");
}

Isolation::Isolation(const Options& options, const ContextEntries& peaks)
    : options_(options), knows_peaks_(!peaks.empty()) {
  if (knows_peaks_) write_peaks(folder_.path("peaks.json"), peaks);
}

RowResult Isolation::run(const Row& row, int64_t family, const std::function<void()>& tick,
                         const std::function<void(const std::string& line)>& warn) const {
  const std::string out = folder_.path("row.json");
  const std::string samples = folder_.path("row.samples.jsonl");
  const std::string choice = kernels_path(out);
  for (const auto& file : {out, out + ".errors.jsonl", samples, choice}) fs::remove(file);
  const Limits limits{
      .seconds = options_.limit_seconds,
      .bytes = options_.limit_gb ? *options_.limit_gb * 1e9 : default_memory_limit(),
      .bytes_are = options_.limit_gb ? "of --fathom_limit_gb"
                                     : "that were free at its start (--fathom_limit_gb)"};
  const std::string errors = folder_.path("stderr");
  const ChildExit end = run_child(arguments(row), errors, limits, tick);
  const auto printed = messages(errors);
  RowResult result{.row = &row};
  const auto failed = [&](const Failure& why) {
    result.failure = failed_run(row, family, why);
    return result;
  };
  if (end.code == kNothingMatched && row.needs_replacement) {
    result.left_out = true;
    return result;
  }
  const auto failure = failure_in_file(out + ".errors.jsonl");
  if (end.code != kOk && (end.code != kBenchmarkFailed || !failure)) {
    std::string reason = end.reason;
    if (reason.empty()) reason = "exit code " + std::to_string(end.code);
    if (!printed.empty()) reason += "; its last message: " + printed.back();
    return failed({.reason = reason});
  }
  for (const auto& line : printed) warn(line);
  if (failure) return failed(*failure);
  if (!fs::exists(out))
    return failed({.reason = "the process ended with exit code 0, but measured nothing"});
  add_runs(runs_in_file(out, family), result);
  result.samples = fixtures::text_of_file(samples);
  if (fs::exists(choice))
    result.choice = std::make_shared<const StepChoice>(read_choices(choice).at(row.name));
  return result;
}

std::vector<std::string> Isolation::arguments(const Row& row) const {
  std::vector<std::string> all{options_.typed.front()};
  std::vector<std::string> switches = row.switches;
  if (options_.explain) {
    switches.emplace_back("--fathom_cache=hot,cold");
    switches.push_back("--fathom_backend=" + row.backend);
  }
  for (auto argument = options_.typed.begin() + 1; argument != options_.typed.end(); ++argument) {
    const std::string flag = argument->substr(0, argument->find('='));
    const bool switched =
        std::any_of(switches.begin(), switches.end(),
                    [&](const std::string& one) { return one.starts_with(flag + '='); });
    if (is_passed(flag, row) && !switched) all.push_back(*argument);
  }
  all.insert(all.end(), switches.begin(), switches.end());
  all.push_back("--benchmark_filter=^" + row.name + kNameSuffix + "$");
  all.push_back("--benchmark_out=" + folder_.path("row.json"));
  all.emplace_back("--benchmark_out_format=json");
  all.emplace_back("--fathom_isolate=false");
  all.emplace_back("--fathom_machine_check=off");
  all.push_back("--fathom_device=" + device_list(options_.devices));
  const std::string min_time = google_benchmark_value(options_.google_benchmark,
                                                      "--benchmark_min_time", "BENCHMARK_MIN_TIME",
                                                      "");  // of a preset
  if (!min_time.empty()) all.push_back("--benchmark_min_time=" + min_time);
  if (knows_peaks_) all.push_back("--fathom_peaks=" + folder_.path("peaks.json"));
  if (row.samples) all.push_back("--fathom_samples=" + folder_.path("row.samples.jsonl"));
  return all;
}

}  // namespace fathom::benchmarks
