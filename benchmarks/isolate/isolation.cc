#include "benchmarks/isolate/isolation.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>

#include "benchmarks/error.h"
#include "benchmarks/isolate/child.h"
#include "benchmarks/options/preset.h"
#include "benchmarks/output/json.h"
#include "benchmarks/output/peaks_json.h"
#include "benchmarks/output/reporter.h"
#include "fixtures/machine/memory.h"

namespace fathom::benchmarks {
namespace {

namespace fs = std::filesystem;
using Run = RowResult::Run;

constexpr std::array<Conflict, 2> kConflicts{{
    {"--fathom_explain", "which watches a step and its ops in one process"},
    {"--fathom_record", "which measures nothing"},
}};

constexpr int kFinished = 0;
constexpr int kFailed = 4;  // and says so in its errors file

/// Options that a child gets with other values, or not at all.
constexpr std::string_view kParents[] = {
    "--fathom_isolate",       "--fathom_limit_seconds", "--fathom_limit_gb",  "--fathom_resume",
    "--fathom_samples",       "--fathom_peaks",         "--benchmark_filter", "--benchmark_out",
    "--benchmark_out_format", "--benchmark_format"};

constexpr std::string_view kForUser = "fathom_bench: ";  // how lines on stderr begin

Run failed_run(const Row& row, int64_t family, const std::string& reason) {
  Run run;
  run.run_name.function_name = row.name;
  run.run_name.time_type = std::string(kNameSuffix).substr(1);
  run.family_index = family;
  run.repetition_index = 0;
  fail(run, reason);
  return run;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> lines_for_user(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(kForUser, 0) == 0) lines.push_back(line.substr(kForUser.size()));
  }
  return lines;
}

/// What is free, and a little less.
double most_memory() {
  const auto available = fixtures::available_memory();
  return available ? 0.95 * static_cast<double>(*available)
                   : std::numeric_limits<double>::infinity();
}

/// The first reason in a child's errors file.
std::string first_reason(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return reason_in_failure(line);
}

}  // namespace

void resolve_isolation(const Options& options) {
  if (options.isolate) {
    refuse_conflicts("--fathom_isolate", kConflicts, options);
    return;
  }
  for (const char* flag : {"--fathom_limit_seconds", "--fathom_limit_gb"}) {
    if (options.was_typed(flag)) throw UsageError(std::string(flag) + ": needs --fathom_isolate");
  }
}

Isolation::Isolation(const Options& options, const ContextEntries& peaks)
    : options_(options), knows_peaks_(!peaks.empty()) {
  if (knows_peaks_) write_peaks(folder_.path("peaks.json"), peaks);
}

RowResult Isolation::run(const Row& row, int64_t family, const std::function<void()>& tick,
                         const std::function<void(const std::string& line)>& warn) const {
  const std::string out = folder_.path("row.json");
  const std::string samples = folder_.path("row.samples.jsonl");
  for (const auto& file : {out, out + ".errors.jsonl", samples}) fs::remove(file);
  const Limits limits{.seconds = options_.limit_seconds,
                      .bytes = options_.limit_gb ? *options_.limit_gb * 1e9 : most_memory()};
  const std::string errors = folder_.path("stderr");
  const Ended end = run_child(arguments(row), errors, limits, tick);
  auto said = lines_for_user(errors);
  RowResult result{.row = &row};
  if (end.code != kFinished && end.code != kFailed) {
    std::string reason = end.reason;
    if (reason.empty()) reason = "exit code " + std::to_string(end.code);
    if (!said.empty()) reason += "; it said: " + said.back();
    add_runs({failed_run(row, family, reason)}, result);
    return result;
  }
  for (const auto& line : said) warn(line);
  std::vector<Run> runs;
  if (fs::exists(out)) runs = runs_in_file(out, family);
  if (end.code == kFailed) {
    runs.push_back(failed_run(row, family, first_reason(out + ".errors.jsonl")));
  }
  if (runs.empty()) runs.push_back(failed_run(row, family, "it measured nothing"));
  add_runs(runs, result);
  result.samples = text_of(samples);
  return result;
}

std::vector<std::string> Isolation::arguments(const Row& row) const {
  std::vector<std::string> all{options_.typed.front()};
  for (auto argument = options_.typed.begin() + 1; argument != options_.typed.end(); ++argument) {
    const std::string flag = argument->substr(0, argument->find('='));
    if (std::find(std::begin(kParents), std::end(kParents), flag) == std::end(kParents)) {
      all.push_back(*argument);
    }
  }
  all.push_back("--benchmark_filter=^" + row.name + kNameSuffix + "$");
  all.push_back("--benchmark_out=" + folder_.path("row.json"));
  all.emplace_back("--benchmark_out_format=json");
  all.emplace_back("--fathom_unchecked");
  if (knows_peaks_) all.push_back("--fathom_peaks=" + folder_.path("peaks.json"));
  if (row.samples) all.push_back("--fathom_samples=" + folder_.path("row.samples.jsonl"));
  return all;
}

}  // namespace fathom::benchmarks
