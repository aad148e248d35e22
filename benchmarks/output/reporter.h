#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/row_result.h"
#include "benchmarks/output/result_sink.h"

namespace fathom::benchmarks {

/// Joins the runs that Google Benchmark reports of a row with the record that the loop kept of it,
/// and hands the result to all sinks, in their order.
class Reporter final : public benchmark::BenchmarkReporter {
 public:
  /// `rows` are registered with Google Benchmark in their order, `records` are theirs. `before`
  /// runs once before the first row, but not where Google Benchmark only lists names.
  Reporter(std::span<const Row> rows, std::span<RowRecord> records, std::vector<ResultSink*> sinks,
           std::function<void()> before)
      : rows_(rows), records_(records), sinks_(std::move(sinks)), before_(std::move(before)) {}

  bool ReportContext(const Context& context) override;
  /// Google Benchmark calls it once a row with the repetitions, and again with the aggregates.
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  /// For a result that does not come through ReportRuns().
  void hand_over(const RowResult& result);

 private:
  void finish();

  std::span<const Row> rows_;
  std::span<RowRecord> records_;
  std::vector<ResultSink*> sinks_;
  std::function<void()> before_;
  std::optional<RowResult> pending_;  ///< its aggregates are still to come
};

/// Adds `runs` to the failures and runs of `result`, with the rows of op types that its repetitions
/// give. Keeps finite counters only. A share of the peak loses its flag as a rate, for which Google
/// Benchmark would print "/s".
void add_runs(const std::vector<benchmark::BenchmarkReporter::Run>& runs, RowResult& result);

}  // namespace fathom::benchmarks
