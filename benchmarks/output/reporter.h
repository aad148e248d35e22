#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/row_result.h"
#include "benchmarks/output/result_sink.h"

namespace fathom::benchmarks {

/// Joins the runs that Google Benchmark reports for a row with the record that the loop kept, and
/// passes the result to all sinks in their order.
class Reporter final : public benchmark::BenchmarkReporter {
 public:
  /// `rows` are in the order of their registration with Google Benchmark, `records` in the same.
  /// `before` runs once before the first row, but not with --benchmark_list_tests.
  Reporter(std::span<const Row> rows, std::span<RowRecord> records, std::vector<ResultSink*> sinks,
           std::function<void()> before)
      : rows_(rows), records_(records), sinks_(std::move(sinks)), before_(std::move(before)) {}

  bool ReportContext(const Context& context) override;
  /// Google Benchmark calls it with a row's repetitions, and again with its aggregates.
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  /// From then on a row during which the process stood still is kept back for take_again(), at most
  /// twice. `note` gets a line each time.
  void repeat_after_standstill(std::function<void(const std::string& line)> note) {
    note_ = std::move(note);
  }
  /// The places of the rows that are to run again.
  std::vector<std::size_t> take_again();

  /// Passes a result that does not come through ReportRuns() to all sinks.
  void pass_on(const RowResult& result);

 private:
  void finish();
  /// Whether the row is to run again, because the process stood still during it.
  bool keeps_back(const RowResult& result);

  std::span<const Row> rows_;
  std::span<RowRecord> records_;
  std::vector<ResultSink*> sinks_;
  std::function<void()> before_;
  std::optional<RowResult> pending_;  ///< waits for its aggregates
  std::function<void(const std::string& line)> note_;
  std::map<std::size_t, int> tries_;  ///< by the row's place, of those with a standstill
  std::vector<std::size_t> again_;
};

/// A run of `row` without a measurement.
benchmark::BenchmarkReporter::Run failed_run(const Row& row, int64_t family, const Failure& why);

/// Adds measured `runs` to those of `result`, and the rows of the op types in its repetitions.
/// Drops counters that are not finite. Clears the rate flag of shares of the peak, for which Google
/// Benchmark would print "/s".
void add_runs(const std::vector<benchmark::BenchmarkReporter::Run>& runs, RowResult& result);

}  // namespace fathom::benchmarks
