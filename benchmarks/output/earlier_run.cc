#include "benchmarks/output/earlier_run.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "benchmarks/error.h"
#include "benchmarks/google_benchmark.h"
#include "benchmarks/output/json.h"
#include "benchmarks/rows/rows.h"
#include "fixtures/files/file.h"
#include "fixtures/files/written_file.h"

namespace fathom::benchmarks {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError("--fathom_resume: " + path + ": " + why);
}

/// Google Benchmark writes rows between these lines.
std::string rows_of(const std::string& path, const std::string& text) {
  constexpr std::string_view kBegin = "\"benchmarks\": [\n";
  constexpr std::string_view kEnd = "\n  ]\n}";
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.rfind(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin + kBegin.size()) {
    refuse(path, "has another layout, expected the file as --benchmark_out wrote it");
  }
  return text.substr(begin + kBegin.size(), end - begin - kBegin.size());
}

void expect_same(const std::string& path, const FinishedRun& run, const std::string& key,
                 const std::string& now) {
  const auto found = run.context.find(key);
  const std::string then = found == run.context.end() ? "" : found->second;
  if (then != utf8(now)) {
    refuse(path, "was measured with " + key + " '" + then + "', now it is '" + now +
                     "'; only a run with the same machine, build and settings can be resumed");
  }
}

FinishedRun parsed(const std::string& path, const std::string& text) try {
  return finished_run(text);
} catch (const std::runtime_error& error) {
  refuse(path, std::string("is no JSON of fathom_bench (") + error.what() + ")");
}

}  // namespace

EarlierRun read_earlier_run(const std::string& path, const ContextEntries& context) {
  EarlierRun earlier;
  if (!fixtures::is_plain_file(path)) refuse(path, "is a pipe or a device, expected a file");
  if (!std::filesystem::exists(path)) return earlier;
  const std::string text = fixtures::text_of_file(path);
  const FinishedRun run = parsed(path, text);
  expect_same(path, run, "host_name", benchmark::SystemInfo::Get().name);
  for (const auto& [key, now] : context) {
    if (key != "command_line") expect_same(path, run, key, now);
  }
  earlier.finished.insert(run.run_names.begin(), run.run_names.end());
  earlier.rows = rows_of(path, text);
  return earlier;
}

StepChoices finished_choices(const std::string& path, const EarlierRun& earlier) try {
  if (!std::filesystem::exists(path)) return {};
  StepChoices choices = read_choices(path);
  std::erase_if(choices, [&](const auto& one) {
    return !earlier.finished.contains(one.first + kNameSuffix);
  });
  return choices;
} catch (const std::runtime_error& error) {
  throw UsageError(std::string("--fathom_resume: ") + error.what());
}

void keep_finished_samples(const std::string& path, const EarlierRun& earlier) {
  if (!fixtures::is_plain_file(path)) return;
  std::ifstream file(path);
  if (!file) return;
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    if (earlier.finished.contains(name_in_sample(line))) kept += line + '\n';
  }
  fixtures::replace_file(path, kept);
}

}  // namespace fathom::benchmarks
