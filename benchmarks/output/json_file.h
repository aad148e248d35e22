#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"

namespace fathom::benchmarks {

/// Writes a file beside `path` and renames it over `path`, which is whole at every moment. Throws
/// std::runtime_error with the reason.
void replace_file(const std::string& path, const std::string& text);

/// --benchmark_out in Google Benchmark's own JSON. Every benchmark replaces the whole file, so that
/// it is valid at every moment and after every end. An earlier file stays until the first row.
class JsonFile {
 public:
  /// Throws UsageError where the file cannot be made.
  explicit JsonFile(const std::string& path);

  /// `rows` are those of an earlier run, as they stood in its file.
  void begin(const benchmark::BenchmarkReporter::Context& context, const std::string& rows = {});
  /// Throws std::runtime_error where the disk refuses; what was written before stays whole.
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
