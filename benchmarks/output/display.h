#pragma once

#include "benchmarks/google_benchmark.h"
#include "benchmarks/options/options.h"
#include "benchmarks/output/progress.h"
#include "benchmarks/output/result_sink.h"

namespace fathom::benchmarks {

/// Stands before Google Benchmark's display, which gets measured runs only; runs without a
/// measurement become lines on stderr.
class Display final : public ResultSink {
 public:
  Display(const Options& options, Progress& progress);

  void begin(const Context& context) override;
  void add(const RowResult& result) override;
  void end() override { google_benchmarks_.Finalize(); }

  int failures() const { return failures_; }

 private:
  benchmark::BenchmarkReporter& google_benchmarks_;
  const Options& options_;
  Progress& progress_;
  int failures_ = 0;
};

}  // namespace fathom::benchmarks
