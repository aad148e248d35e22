#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/explain/explain.h"
#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/loop.h"

namespace fathom::benchmarks {

/// Stands before another reporter: keeps of the rows of --fathom_explain what explains the step.
class Explainer final : public benchmark::BenchmarkReporter {
 public:
  Explainer(benchmark::BenchmarkReporter& next, const std::vector<Row>& rows, const Loop& loop)
      : next_(next), rows_(rows), loop_(loop) {}

  bool ReportContext(const Context& context) override { return next_.ReportContext(context); }
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override { next_.Finalize(); }

  /// One for each device, thread count and precision; none where nothing has run.
  std::vector<Explanation> explanations(const StepName& step) const;

 private:
  /// What is known of a row.
  struct Measured {
    double us;  ///< the median step, of repetitions the median one
    std::optional<PeakShare> peak;
  };

  Explanation explanation(const Row& model, const StepName& step) const;

  benchmark::BenchmarkReporter& next_;
  const std::vector<Row>& rows_;
  const Loop& loop_;
  std::map<std::string, Measured> measured_;  ///< by the row's name
  bool ran_ = false;
};

}  // namespace fathom::benchmarks
