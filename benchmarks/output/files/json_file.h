#pragma once

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "fixtures/files/written_file.h"

namespace fathom::benchmarks {

/// --benchmark_out in Google Benchmark's JSON. Every benchmark replaces the whole file, so that it
/// is always valid, even after a crash. An earlier file is kept until the first row. A pipe or a
/// device gets one document, at the end.
class JsonFile {
 public:
  /// Throws UsageError where the file cannot be written.
  explicit JsonFile(const std::string& path);
  /// Gives a pipe the rows of a run that ends early.
  ~JsonFile();
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;

  /// `rows` is the JSON text of an earlier run's rows.
  void begin(const benchmark::BenchmarkReporter::Context& context, const std::string& rows = {});
  /// Throws std::system_error where the file cannot be written, and keeps its last state; so does
  /// end().
  void add(const std::vector<benchmark::BenchmarkReporter::Run>& runs);
  void end();

 private:
  /// What Google Benchmark has written since the last call, as strict JSON.
  std::string written();

  std::string path_;
  std::optional<fixtures::WrittenFile> pipe_;  ///< of a path that is no plain file
  std::ostringstream stream_;                  ///< what Google Benchmark writes
  std::string text_;
  std::string closing_;
  benchmark::JSONReporter writer_;
};

}  // namespace fathom::benchmarks
