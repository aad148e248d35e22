#include "benchmarks/tasks/first_steps.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace fathom::benchmarks {
namespace {

using fixtures::Precision;
using Steps = std::vector<StepResults>;

/// One step of a network with two parameters.
Steps steps() {
  return {{.result = at::full({}, 2.0),
           .gradients = {{"bias", at::zeros({4})}, {"weight", at::ones({4, 4})}}}};
}

std::string refusal(const Steps& found, const Steps& rounded = steps(),
                    Precision precision = Precision::kFp32) {
  try {
    expect_same_results(steps(), rounded, found, precision);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST(FirstSteps, AreTheSameOfTheSameSeed) {
  const models::WorkloadRow& seq2seq = models::workload("seq2seq");  // with dropout
  for (const auto mode : {models::Mode::kTrain, models::Mode::kInfer}) {
    const models::StepOptions options{.mode = mode, .batch = 2, .scale = models::Scale::kSmall};
    models::Step step(seq2seq, options);
    const Steps expected = first_steps(step);
    models::Step again(seq2seq, options);
    const Steps found = first_steps(again);
    ASSERT_EQ(expected.size(), 3U);
    EXPECT_EQ(expected[0].gradients.empty(), mode == models::Mode::kInfer);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(at::equal(expected[i].result, found[i].result));
      for (const auto& [name, gradient] : expected[i].gradients)
        EXPECT_TRUE(at::equal(gradient, found[i].gradients.at(name))) << name;
    }
  }
}

TEST(FirstSteps, OfRoundedWeightsDifferALittle) {
  const models::WorkloadRow& autoenc = models::workload("autoenc");
  const models::StepOptions options{.batch = 2, .scale = models::Scale::kSmall};
  models::Step step(autoenc, options);
  const Steps exact = first_steps(step);
  models::Step changed(autoenc, options);
  round_weights(changed);
  const Steps rounded = first_steps(changed);
  for (const auto& [name, gradient] : exact[0].gradients) {
    EXPECT_FALSE(at::equal(gradient, rounded[0].gradients.at(name))) << name;
    EXPECT_TRUE(at::allclose(gradient, rounded[0].gradients.at(name), 1e-3, 1e-4)) << name;
  }
}

TEST(FirstSteps, MayDifferByRounding) {
  Steps rounded = steps();
  rounded[0].result = at::full({}, 2.0001);
  rounded[0].gradients["weight"] = at::full({4, 4}, 1.0001);
  rounded[0].gradients["bias"] = at::full({4}, 1e-7);  // rounding of a gradient that is zero
  EXPECT_EQ(refusal(rounded), "");
}

TEST(FirstSteps, DifferInTheLoss) {
  Steps found = steps();
  found[0].result = at::full({}, 2.0625);
  EXPECT_NE(refusal(found).find("in step 1 the loss differs by 0.03125 of its norm"),
            std::string::npos)
      << refusal(found);
  EXPECT_EQ(refusal(found, steps(), Precision::kBf16), "");
  Steps rounded = steps();
  rounded[0].result = at::full({}, 2.01);
  EXPECT_EQ(refusal(found, rounded), "") << "of a step that amplifies rounding";
}

TEST(FirstSteps, DifferInOneGradient) {
  Steps found = steps();
  found[0].gradients["weight"][0][0] = 1.1;
  EXPECT_NE(refusal(found).find("gradient of weight differs by "), std::string::npos);
  Steps rounded = steps();  // rounding flips a ReLU somewhere else
  rounded[0].gradients["weight"] = at::ones({4, 4}).mul_(1.01);
  EXPECT_EQ(refusal(found, rounded), "");
  rounded = steps();
  rounded[0].gradients["bias"] = at::full({4}, 1e-3);
  EXPECT_EQ(refusal(found, rounded), "") << "less than rounding changes another gradient";
}

TEST(FirstSteps, AreNotNumbers) {
  Steps found = steps();
  found[0].result = at::full({}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_NE(refusal(found).find("the loss differs by nan"), std::string::npos) << refusal(found);
}

TEST(FirstSteps, LackAGradient) {
  Steps found = steps();
  found[0].gradients.erase("bias");
  EXPECT_EQ(refusal(found), "in step 1 the gradient of bias is missing");
}

TEST(FirstSteps, HaveAnotherShape) {
  Steps found = steps();
  found[0].result = at::ones({2});
  EXPECT_NE(refusal(found).find("the loss has sizes [2], with LibTorch's kernels []"),
            std::string::npos);
}

}  // namespace
}  // namespace fathom::benchmarks
