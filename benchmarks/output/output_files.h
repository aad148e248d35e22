#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/loop.h"
#include "benchmarks/options/options.h"
#include "benchmarks/output/earlier_run.h"
#include "benchmarks/output/json_file.h"

namespace fathom::benchmarks {

/// What a run leaves on disk: measured rows in --benchmark_out, rows without a measurement in the
/// errors file beside it, every step's time in --fathom_samples.
class OutputFiles final : public benchmark::BenchmarkReporter {
 public:
  /// Goes on after `earlier`. Throws UsageError for a file that cannot be written.
  OutputFiles(const Options& options, Loop& loop, EarlierRun earlier);

  /// Throws std::runtime_error where the disk refuses; so does ReportRuns.
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  /// Lines of --fathom_samples that another process wrote.
  void add_samples(const std::string& lines);

 private:
  void write_failure(const Run& run);
  void write_samples(const std::vector<Run>& runs);
  void write_sample(const benchmark::BenchmarkName& name, std::size_t repetition, std::size_t step,
                    double us);

  Loop& loop_;
  EarlierRun earlier_;
  std::optional<JsonFile> json_;
  std::string errors_path_;
  std::string samples_path_;
  std::ofstream samples_;
};

}  // namespace fathom::benchmarks
