#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/explain/explain.h"
#include "benchmarks/measure/loop.h"
#include "benchmarks/output/result_sink.h"

namespace fathom::benchmarks {

/// Keeps what an explanation needs of the rows of --fathom_explain.
class Explainer final : public ResultSink {
 public:
  explicit Explainer(const std::vector<Row>& rows) : rows_(rows) {}

  /// Of a row that was measured before, the better measurement stays.
  void add(const RowResult& result) override;

  /// One for each device, thread count and precision; none where nothing has run.
  std::vector<Explanation> explanations(const StepName& step) const;

  /// Runs the rows whose times contradict each other again, at most three times.
  void measure_again(const StepName& step, Loop& loop);

 private:
  /// A row that did not fail.
  struct Measured {
    Timing time;  ///< the median step; of several repetitions the median one
    std::optional<PeakShare> peak;
    std::optional<ops::ShapeProfile> profile = {};  ///< of the last repetition
    std::optional<double> profile_taken_us = {};
    std::optional<StepOperators> operators = {};
    std::string label = {};
    std::shared_ptr<const StepChoice> choice = nullptr;
    int measurements = 1;
  };

  Explanation explanation(const Row& model, const StepName& step) const;
  std::vector<OtherStep> others(const Row& model) const;
  std::vector<Row> contradictory_rows(const StepName& step) const;
  const Measured* measured(const Row& row) const;

  const std::vector<Row>& rows_;
  std::map<std::string, Measured> measured_;  ///< by the row's name
  bool ran_ = false;
};

}  // namespace fathom::benchmarks
