#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"

namespace fathom::benchmarks {

/// Writes a file beside `path` and renames it to `path`, so that readers never see part of it.
/// Throws std::runtime_error with the reason.
void replace_file(const std::string& path, const std::string& text);

/// Whether `path` is a regular file or does not exist yet. Beside others, such as a pipe or
/// /dev/null, the program writes no files.
bool is_plain_file(const std::string& path);

/// --benchmark_out in Google Benchmark's JSON. Every benchmark replaces the whole file, so that it
/// is always valid, even after a crash. An earlier file is kept until the first row.
class JsonFile {
 public:
  /// Throws UsageError where the file cannot be created.
  explicit JsonFile(const std::string& path);
  ~JsonFile();
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;

  /// `rows` is the JSON text of an earlier run's rows.
  void begin(const benchmark::BenchmarkReporter::Context& context, const std::string& rows = {});
  /// Throws std::runtime_error where the file cannot be written; the last state of it is kept.
  void add(const std::vector<benchmark::BenchmarkReporter::Run>& runs);

 private:
  void replace();

  std::string path_;
  std::string part_;  ///< beside path_, renamed over it
  std::ostringstream text_;
  std::string closing_;
  benchmark::JSONReporter writer_;
};

}  // namespace fathom::benchmarks
