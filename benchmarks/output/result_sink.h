#pragma once

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/row_result.h"

namespace fathom::benchmarks {

/// Takes the results of rows, one at a time.
class ResultSink {
 public:
  using Context = benchmark::BenchmarkReporter::Context;

  virtual ~ResultSink() = default;
  /// Before the first row.
  virtual void begin(const Context& /*context*/) {}
  virtual void add(const RowResult& result) = 0;
  /// After the last row.
  virtual void end() {}
};

}  // namespace fathom::benchmarks
