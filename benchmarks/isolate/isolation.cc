#include "benchmarks/isolate/isolation.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>

#include "benchmarks/error.h"
#include "benchmarks/isolate/child.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/option.h"
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
using enum OptionRules::OwnProcess;

/// Flags of Google Benchmark of which a row's own process has its own values.
constexpr std::array<std::string_view, 4> kOwnFlags{"--benchmark_filter", "--benchmark_format",
                                                    "--benchmark_out", "--benchmark_out_format"};

constexpr std::string_view kMessagePrefix = "fathom_bench: ";  // of lines on stderr

template <typename List>
bool holds(const List& list, std::string_view one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

/// Whether the process of a row gets an option as it was typed.
bool is_passed(const Option& option, const Row& row) {
  const auto passed = option.rules.own_process;
  return passed == kAsTyped || (passed == kOfRanks && row.ranks > 0) ||
         (passed == kOfTuned && row.backend == name(ops::Backend::kTuned));
}

/// The value of a token in a row's name: "8" of "/batch:8/"; empty where it has none.
std::string token_value(const Row& row, std::string_view key) {
  const std::string token = '/' + std::string(key) + ':';
  const auto found = row.name.find(token);
  if (found == std::string::npos) return {};
  const auto begin = found + token.size();
  return row.name.substr(begin, row.name.find('/', begin) - begin);
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

bool is_isolated(const Options& options, const Row& row) {
  return options.isolate || (row.own_process && !options.was_typed("--fathom_isolate"));
}

void check_isolation(const Options& options, const std::vector<Row>& rows) {
  const bool isolates = std::any_of(rows.begin(), rows.end(),
                                    [&](const Row& row) { return is_isolated(options, row); });
  if (isolates && options.out.empty() && is_given("--benchmark_out", options)) {
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
  std::vector<std::string> own = row.switches;
  std::set<std::string> dropped(kOwnFlags.begin(), kOwnFlags.end());
  for (const auto& one : row.switches) dropped.insert(one.substr(0, one.find('=')));
  for (const auto& option : option_table()) {
    if (!is_passed(option, row)) dropped.insert(option.flag);
    if (option.rules.own_process != kValueOfRow) continue;
    const std::string value = token_value(row, option.rules.token);
    // The backends of collectives are none of --fathom_backend.
    if (!value.empty() && (row.step || row.op || option.rules.token == "device"))
      own.push_back(option.flag + '=' + value);
  }
  if (row.profiling == Profiling::kOpTypes) own.emplace_back("--fathom_profile");
  if (row.memory != nullptr) own.emplace_back("--fathom_memory");
  if (row.samples) own.push_back("--fathom_samples=" + folder_.path("row.samples.jsonl"));
  own.push_back("--benchmark_filter=^" + row.name + kNameSuffix + "$");
  own.push_back("--benchmark_out=" + folder_.path("row.json"));
  own.emplace_back("--benchmark_out_format=json");
  own.emplace_back("--fathom_isolate=false");
  own.emplace_back("--fathom_machine_check=off");
  const std::string min_time =
      google_benchmark_value(options_.google_benchmark, "--benchmark_min_time", "");  // of a preset
  if (!min_time.empty()) own.push_back("--benchmark_min_time=" + min_time);
  if (knows_peaks_) own.push_back("--fathom_peaks=" + folder_.path("peaks.json"));

  std::vector<std::string> all{options_.typed.front()};
  std::copy_if(options_.typed.begin() + 1, options_.typed.end(), std::back_inserter(all),
               [&](const std::string& argument) {
                 return !dropped.contains(argument.substr(0, argument.find('=')));
               });
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

}  // namespace fathom::benchmarks
