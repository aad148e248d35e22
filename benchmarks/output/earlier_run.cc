#include "benchmarks/output/earlier_run.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "benchmarks/error.h"
#include "benchmarks/google_benchmark.h"
#include "benchmarks/output/json_file.h"

namespace fathom::benchmarks {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError("--fathom_resume: " + path + ": " + why);
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Google Benchmark writes rows between these lines.
std::string rows_of(const std::string& path, const std::string& text) {
  constexpr std::string_view kBegin = "\"benchmarks\": [\n";
  constexpr std::string_view kEnd = "\n  ]\n}";
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.rfind(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin + kBegin.size()) {
    refuse(path, "is laid out otherwise, expected the file as --benchmark_out wrote it");
  }
  return text.substr(begin + kBegin.size(), end - begin - kBegin.size());
}

void expect_same(const std::string& path, const nlohmann::json& context, const std::string& key,
                 const std::string& now) {
  const std::string then = context.value(key, "");
  if (then != now) {
    refuse(path, "was measured with " + key + " '" + then + "', now it is '" + now +
                     "'; a run goes on where it began only");
  }
}

}  // namespace

EarlierRun read_earlier_run(const std::string& path, const ContextEntries& context) {
  EarlierRun earlier;
  if (!std::filesystem::exists(path)) return earlier;
  const std::string text = read(path);
  try {
    const auto document = nlohmann::json::parse(text);
    const auto& then = document.at("context");
    then.at("fathom_version");
    expect_same(path, then, "host_name", benchmark::SystemInfo::Get().name);
    for (const auto& [key, now] : context) {
      if (key != "command_line") expect_same(path, then, key, now);
    }
    for (const auto& row : document.at("benchmarks")) earlier.finished.insert(row.at("run_name"));
  } catch (const nlohmann::json::exception& error) {
    refuse(path, std::string("no JSON of fathom_bench (") + error.what() + ")");
  }
  earlier.rows = rows_of(path, text);
  return earlier;
}

void keep_finished_samples(const std::string& path, const EarlierRun& earlier) {
  std::ifstream file(path);
  if (!file) return;
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    const auto sample = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (sample.is_object() && earlier.finished.contains(sample.value("name", ""))) {
      kept += line + '\n';
    }
  }
  replace_file(path, kept);
}

}  // namespace fathom::benchmarks
