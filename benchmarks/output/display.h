#pragma once

#include <functional>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/loop.h"
#include "benchmarks/output/progress.h"

namespace fathom::benchmarks {

/// Stands before Google Benchmark's display: measured rows go on to it, rows without a measurement
/// become a line on stderr.
class Display final : public benchmark::BenchmarkReporter {
 public:
  /// A `console` shows fewer counters than JSON. `before_context` runs once, when it is certain
  /// that benchmarks will run.
  Display(bool console, const Loop& loop, Progress& progress, std::function<void()> before_context);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  int failures() const { return failures_; }

 private:
  benchmark::BenchmarkReporter& google_benchmarks_;
  bool console_;
  const Loop& loop_;
  Progress& progress_;
  std::function<void()> before_context_;
  int failures_ = 0;
};

/// The measured ones of `runs`, with finite counters only; a share of the peak is a rate to Google
/// Benchmark, which would print it "/s".
std::vector<benchmark::BenchmarkReporter::Run> measured(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs);

}  // namespace fathom::benchmarks
