#include "benchmarks/output/files/earlier_run.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

#include "benchmarks/error.h"
#include "benchmarks/output/context/context_fields.h"
#include "benchmarks/output/files/json.h"
#include "benchmarks/output/files/peaks_json.h"
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

/// Whether a difference in an entry forbids to go on. The machine's state is known only to runs
/// that checked it.
bool differs(const std::string& key, const std::string& then, const std::string& now) {
  if (context_field(key) == ContextField::kDescription || then == now) return false;
  return !key.starts_with("machine_") || key == "machine_name" || (!then.empty() && !now.empty());
}

void expect_same(const std::string& path, const std::map<std::string, std::string>& before,
                 const std::map<std::string, std::string>& now) {
  const auto value = [](const auto& context, const std::string& key) {
    const auto found = context.find(key);
    return found == context.end() ? "" : found->second;
  };
  std::set<std::string> keys;
  for (const auto* context : {&before, &now}) {
    for (const auto& [key, unused] : *context) keys.insert(key);
  }
  for (const auto& key : keys) {
    const std::string was = value(before, key);
    const std::string is = utf8(value(now, key));
    if (!differs(key, was, is)) continue;
    std::string why = "was measured with ";
    why.append(key).append(" '").append(was).append("', now it is '").append(is);
    refuse(path, why + "'; only a run with the same machine, build and settings can be resumed");
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
  auto now = google_benchmark_context();
  for (const auto& [key, value] : context) now[key] = value;
  expect_same(path, run.context, now);
  earlier.peaks = peaks_in(run.context);
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
