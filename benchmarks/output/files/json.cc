#include "benchmarks/output/files/json.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "benchmarks/rows/rows.h"
#include "fixtures/files/file.h"

namespace fathom::benchmarks {
namespace {

using nlohmann::json;
using Run = benchmark::BenchmarkReporter::Run;

/// Numeric fields of an entry that are not counters.
const std::set<std::string> kOwn{"family_index", "per_family_instance_index",
                                 "repetitions",  "repetition_index",
                                 "threads",      "iterations",
                                 "real_time",    "cpu_time"};

/// Counters that the console prints with "/s".
const std::set<std::string> kRates{"items_per_second", "flops", "bytes"};

std::string line(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

/// What stands before a field's text.
std::string opening(const char* field) { return '"' + std::string(field) + "\": \""; }

/// The fields of an object; those that are no strings as JSON.
std::map<std::string, std::string> texts(const json& object) {
  std::map<std::string, std::string> found;
  for (const auto& [key, value] : object.items())
    found[key] = value.is_string() ? value.get<std::string>() : value.dump();
  return found;
}

/// Splits `name` at the suffix that Google Benchmark appends: the name's time type.
benchmark::BenchmarkName benchmark_name(const std::string& name) {
  const std::string suffix = kNameSuffix;
  benchmark::BenchmarkName made;
  made.function_name = name.substr(0, name.size() - suffix.size());
  made.time_type = suffix.substr(1);
  return made;
}

Run run_of(const json& entry, int64_t family) {
  Run run;
  run.run_name = benchmark_name(entry.at("run_name"));
  run.family_index = family;
  run.per_family_instance_index = 0;
  run.repetitions = entry.at("repetitions");
  run.repetition_index =
      entry.value("repetition_index", static_cast<int64_t>(Run::no_repetition_index));
  run.threads = entry.at("threads");
  run.iterations = entry.at("iterations");
  run.time_unit = benchmark::kMicrosecond;
  run.report_label = entry.value("label", "");
  // Google Benchmark divides times, not shares, by the iterations.
  double scale = static_cast<double>(run.iterations) / 1e6;
  if (entry.at("run_type") == "aggregate") {
    run.run_type = Run::RT_Aggregate;
    run.aggregate_name = entry.at("aggregate_name");
    if (entry.at("aggregate_unit") == "percentage") {
      run.aggregate_unit = benchmark::kPercentage;
      scale = 1;
    }
  }
  run.real_accumulated_time = entry.at("real_time").get<double>() * scale;
  run.cpu_accumulated_time = entry.at("cpu_time").get<double>() * scale;
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_number() || kOwn.contains(key)) continue;
    run.counters[key] = benchmark::Counter(
        value, kRates.contains(key) ? benchmark::Counter::kIsRate : benchmark::Counter::kDefaults);
  }
  return run;
}

}  // namespace

std::string utf8(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string strict_json(const std::string& text) {
#ifdef NDEBUG
  constexpr const char* kBuildType = "release";
#else
  constexpr const char* kBuildType = "debug";
#endif
  std::string strict;
  for (const char c : utf8(text)) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\n') {  // it breaks lines between fields only
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      strict += code;
    } else {
      strict += c;
    }
  }
  const std::string field = opening("library_build_type");
  const auto at = strict.find(field);
  if (at == std::string::npos) return strict;
  strict.replace(at, field.size(), opening("google_benchmark_build_type"));
  return strict.insert(at, field + kBuildType + "\",\n    ");
}

std::string sample_line(const std::string& name, std::size_t repetition, std::size_t step,
                        double us) {
  return line({{"name", name}, {"repetition", repetition}, {"step", step}, {"us", us}});
}

std::string name_in_sample(const std::string& line) {
  const auto object = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("name") || !object["name"].is_string()) return "";
  return object["name"];
}

std::string failure_line(const std::string& name, int64_t repetition, const std::string& reason) {
  return line({{"name", name}, {"repetition", repetition}, {"reason", reason}});
}

std::optional<Failure> failure_in_line(const std::string& line) try {
  const auto object = json::parse(line);
  return Failure{.reason = object.at("reason"), .repetition = object.at("repetition")};
} catch (const json::exception&) {
  return std::nullopt;
}

std::string context_json(const std::map<std::string, std::string>& context) {
  return line({{"context", context}});
}

std::map<std::string, std::string> context_in_file(const std::string& path) {
  const auto document =
      json::parse(fixtures::text_of_file(path), nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("context")) return {};
  const json& context = document["context"];
  return context.is_object() ? texts(context) : std::map<std::string, std::string>{};
}

std::map<std::string, std::string> google_benchmark_context() {
  std::ostringstream text;
  benchmark::JSONReporter writer;
  writer.SetOutputStream(&text);
  writer.SetErrorStream(&text);
  writer.ReportContext({});
  writer.Finalize();
  const auto document = json::parse(strict_json(text.str()), nullptr, /*allow_exceptions=*/false);
  return document.is_object() ? texts(document["context"]) : std::map<std::string, std::string>{};
}

std::vector<Run> runs_in_file(const std::string& path, int64_t family) {
  std::ifstream file(path);
  const auto document = json::parse(file);
  std::vector<Run> runs;
  for (const auto& entry : document.at("benchmarks")) runs.push_back(run_of(entry, family));
  return runs;
}

FinishedRun finished_run(const std::string& text) try {
  const auto document = json::parse(text);
  const auto& context = document.at("context");
  context.at("fathom_version");
  FinishedRun found{.context = texts(context), .run_names = {}};
  for (const auto& row : document.at("benchmarks"))
    found.run_names.push_back(row.at("run_name").get<std::string>());
  return found;
} catch (const json::exception& error) {
  throw std::runtime_error(error.what());
}

}  // namespace fathom::benchmarks
