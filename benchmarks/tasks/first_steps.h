#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "models/step.h"

namespace fathom::benchmarks {

/// What a step of a workload computes.
struct StepResults {
  at::Tensor result;  ///< the loss, or the output of an inference step
  /// Of the last update, by parameter. Of large ones, about a million elements.
  std::map<std::string, at::Tensor> gradients;
};

inline constexpr int kComparedSteps = 3;

/// Runs the first steps.
std::vector<StepResults> first_steps(models::Step& step);

/// Changes half of the weights by eight units in the last place of fp32, one of bf16 or fp16: the
/// first steps then show how they amplify rounding.
void round_weights(models::Step& step);

/// Throws std::runtime_error where a result of `expected` differs from that in `found` by more than
/// rounding explains: the step, the tensor, the difference and its limit. `rounded` are the
/// expected results after round_weights().
void expect_same_results(const std::vector<StepResults>& expected,
                         const std::vector<StepResults>& rounded,
                         const std::vector<StepResults>& found, fixtures::Precision precision);

}  // namespace fathom::benchmarks
