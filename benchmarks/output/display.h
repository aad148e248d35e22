#pragma once

#include <map>
#include <optional>
#include <sstream>
#include <string>
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
  /// Says what was left out, and what the table marks.
  void end() override;

  int exit_code() const;

 private:
  void print(std::vector<RowResult::Run> runs);
  void print_left_out() const;
  /// Prints what Google Benchmark has written since the last call.
  void pass_on();

  benchmark::BenchmarkReporter& google_benchmarks_;
  std::ostringstream text_;      ///< what it writes
  std::ostringstream messages_;  ///< what it writes to stderr
  const Options& options_;
  Progress& progress_;
  std::optional<TerminalTable> table_;
  std::size_t columns_ = 0;  ///< of table_
  bool has_header_ = false;
  bool has_marks_ = false;  ///< of disturbed rows in the table
  int measured_ = 0;
  int failures_ = 0;
  std::map<std::string, std::vector<const Row*>> left_out_;  ///< by backend
};

}  // namespace fathom::benchmarks
