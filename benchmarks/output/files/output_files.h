#pragma once

#include <optional>
#include <string>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/options/options.h"
#include "benchmarks/output/files/earlier_run.h"
#include "benchmarks/output/files/json_file.h"
#include "benchmarks/output/result_sink.h"
#include "benchmarks/tasks/step_choice.h"
#include "fixtures/files/written_file.h"

namespace fathom::benchmarks {

/// The files of a run: measured rows in --benchmark_out, failed runs in <out>.errors.jsonl, the
/// kernels that steps chose in <out>.kernels.json, the time of every step in --fathom_samples.
class OutputFiles final : public ResultSink {
 public:
  /// Continues `earlier`. Throws UsageError for a file that cannot be written.
  OutputFiles(const Options& options, EarlierRun earlier);

  /// Throws std::system_error where a file cannot be written; so do add() and end().
  void begin(const Context& context) override;
  void add(const RowResult& result) override;
  /// Warns where no row was measured and the file is of an earlier run.
  void end() override;

 private:
  /// Removes what an earlier run has left beside its file.
  void remove_earlier();
  void write_failure(const RowResult::Run& run);
  std::string errors_path() const;

  bool begun_ = false;
  bool measured_ = false;
  fixtures::MessageCallback warn_;
  bool resumes_;
  bool has_files_beside_;
  EarlierRun earlier_;
  std::optional<JsonFile> json_;
  std::string out_;
  StepChoices choices_;
  std::string samples_path_;
  std::optional<fixtures::WrittenFile> samples_;
};

}  // namespace fathom::benchmarks
