#include "benchmarks/isolate/isolation.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "benchmarks/isolate/child.h"
#include "benchmarks/output/json_runs.h"
#include "benchmarks/output/peaks_json.h"
#include "fixtures/machine/memory.h"

namespace fathom::benchmarks {
namespace {

namespace fs = std::filesystem;
using Run = benchmark::BenchmarkReporter::Run;

constexpr int kFinished = 0;
constexpr int kFailed = 4;  // and says so in its errors file

/// What a child is told otherwise, or not at all.
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

/// What a child that failed says of it.
std::string reason_in(const std::string& errors) {
  std::ifstream file(errors);
  std::string line;
  std::getline(file, line);
  const auto failure = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  return failure.is_object() ? failure.value("reason", "") : "";
}

}  // namespace

Isolation::Isolation(const Options& options, const ContextEntries& peaks)
    : options_(options), knows_peaks_(!peaks.empty()) {
  if (knows_peaks_) write_peaks(folder_.path("peaks.json"), peaks);
}

IsolatedRow Isolation::run(const Row& row, int64_t family, const std::function<void()>& tick,
                           const std::function<void(const std::string& line)>& warn) const {
  const std::string out = folder_.path("row.json");
  const std::string samples = folder_.path("row.samples.jsonl");
  for (const auto& file : {out, out + ".errors.jsonl", samples}) fs::remove(file);
  const Limits limits{.seconds = options_.limit_seconds,
                      .bytes = options_.limit_gb ? *options_.limit_gb * 1e9 : most_memory()};
  const std::string errors = folder_.path("stderr");
  const Ended end = run_child(arguments(row), errors, limits, tick);
  auto said = lines_for_user(errors);
  if (end.code != kFinished && end.code != kFailed) {
    std::string reason = end.reason;
    if (reason.empty()) reason = "exit code " + std::to_string(end.code);
    if (!said.empty()) reason += "; it said: " + said.back();
    return {.runs = {failed_run(row, family, reason)}, .samples = {}};
  }
  for (const auto& line : said) warn(line);
  IsolatedRow result;
  if (fs::exists(out)) result.runs = runs_of(nlohmann::json::parse(std::ifstream(out)), family);
  if (end.code == kFailed) {
    result.runs.push_back(failed_run(row, family, reason_in(out + ".errors.jsonl")));
  }
  if (result.runs.empty()) result.runs.push_back(failed_run(row, family, "it measured nothing"));
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
