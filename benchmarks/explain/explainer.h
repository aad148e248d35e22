#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/explain/explain.h"
#include "benchmarks/output/result_sink.h"

namespace fathom::benchmarks {

/// Keeps of the rows of --fathom_explain what explains the step.
class Explainer final : public ResultSink {
 public:
  explicit Explainer(const std::vector<Row>& rows) : rows_(rows) {}

  void add(const RowResult& result) override;

  /// One for each device, thread count and precision; none where nothing has run.
  std::vector<Explanation> explanations(const StepName& step) const;

 private:
  /// A row that did not fail.
  struct Measured {
    double us;  ///< the median step, of repetitions the median one
    std::optional<PeakShare> peak;
    std::optional<ops::ShapeProfile> profile;  ///< of the last repetition
  };

  Explanation explanation(const Row& model, const StepName& step) const;
  const Measured* measured(const Row& row) const;

  const std::vector<Row>& rows_;
  std::map<std::string, Measured> measured_;  ///< by the row's name
  bool ran_ = false;
};

}  // namespace fathom::benchmarks
