#pragma once

#include <optional>
#include <sstream>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/options/options.h"
#include "benchmarks/output/progress.h"
#include "benchmarks/output/result_sink.h"
#include "benchmarks/output/terminal/terminal_table.h"

namespace fathom::benchmarks {

/// Prints measured runs to stdout: as a TerminalTable on a terminal, else, or with an explicit
/// --benchmark_format, through Google Benchmark's own display. Prints failures to stderr.
class Display final : public ResultSink {
 public:
  Display(const Options& options, const std::vector<Row>& rows, Progress& progress);

  void begin(const Context& context) override;
  void add(const RowResult& result) override;
  void end() override;

  int failures() const { return failures_; }

 private:
  void print(std::vector<RowResult::Run> runs);
  /// Prints what Google Benchmark has written since the last call.
  void pass_on();

  benchmark::BenchmarkReporter& google_benchmarks_;
  std::ostringstream text_;      ///< what it writes
  std::ostringstream messages_;  ///< what it writes to stderr
  const Options& options_;
  Progress& progress_;
  std::optional<TerminalTable> table_;
  bool has_header_ = false;
  int failures_ = 0;
};

}  // namespace fathom::benchmarks
