#include "ops/kernels/sampled_softmax.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "fixtures/machine/device.h"
#include "tests/ops/gradients.h"

namespace fathom::ops {
namespace {

constexpr int64_t kPositions = 3;
constexpr int64_t kSamples = 4;
constexpr int64_t kWidth = 5;
constexpr int64_t kClasses = 20;
constexpr int64_t kDrawn = 8;

class SampledSoftmax : public testing::Test {
 protected:
  SampledSoftmax() {
    fixtures::set_threads(1);
    at::manual_seed(3);
  }
};

double share(int64_t id, int64_t classes) {
  const auto k = static_cast<double>(id);
  return std::log((k + 2) / (k + 1)) / std::log(static_cast<double>(classes + 1));
}

double expected_count(int64_t id, int64_t classes, double tries) {
  return 1 - std::pow(1 - share(id, classes), tries);
}

/// Inputs of the loss.
struct Given : tests::Inputs {
  Given()
      : x(given("x", {kPositions, kSamples, kWidth})),
        weight(given("weight", {kClasses, kWidth})),
        bias(given("bias", {kClasses})) {}

  at::Tensor x;
  at::Tensor weight;
  at::Tensor bias;
};

/// Σ loss · factors in plain loops.
double reference(const Given& given, const at::Tensor& labels, const Candidates& candidates,
                 const at::Tensor& factors) {
  double sum = 0;
  for (int64_t t = 0; t < kPositions; ++t) {
    const double tries = candidates.tries[t].item<double>();
    const auto* drawn = candidates.ids[t].const_data_ptr<int64_t>();
    for (int64_t n = 0; n < kSamples; ++n) {
      const auto logit = [&](int64_t id) {
        double value =
            given.bias.const_data_ptr<double>()[id] - std::log(expected_count(id, kClasses, tries));
        for (int64_t h = 0; h < kWidth; ++h) {
          value += given.x[t][n].const_data_ptr<double>()[h] *
                   given.weight[id].const_data_ptr<double>()[h];
        }
        return value;
      };
      const auto label = labels[t][n].item<int64_t>();
      double total = std::exp(logit(label));
      for (int64_t s = 0; s < kDrawn; ++s) {
        if (drawn[s] != label) total += std::exp(logit(drawn[s]));
      }
      sum += (std::log(total) - logit(label)) * factors[t][n].item<double>();
    }
  }
  return sum;
}

TEST_F(SampledSoftmax, AgreesWithPlainLoopsInFloat64) {
  Given given;
  const Candidates candidates = draw_log_uniform(kPositions, kDrawn, kClasses);
  const at::Tensor labels = at::randint(kClasses, {kPositions, kSamples}, at::kLong);
  ASSERT_GT(labels.unsqueeze(2).eq(candidates.ids.unsqueeze(1)).sum().item<int64_t>(), 0)
      << "no label is among the candidates";
  const at::Tensor factors = at::randn({kPositions, kSamples}, at::kDouble);
  tests::expect_gradients(
      given.tensors,
      [&] {
        return (sampled_softmax(given.x, given.weight, given.bias, labels, candidates) * factors)
            .sum();
      },
      [&] { return reference(given, labels, candidates, factors); }, 1000);
}

TEST_F(SampledSoftmax, ComesCloseToTheWholeSoftmaxOverManyDraws) {
  const Given given;
  const c10::NoGradGuard no_grad;
  constexpr int64_t kRounds = 4000;
  const at::Tensor x = given.x[0][0].expand({kRounds, 1, kWidth});
  const at::Tensor labels = at::full({kRounds, 1}, 7, at::kLong);
  const at::Tensor sampled = sampled_softmax(x, given.weight, given.bias, labels,
                                             draw_log_uniform(kRounds, kDrawn, kClasses));
  // exp(loss) is the sum over the classes divided by the label's term. Both are corrected.
  const double tries = draw_log_uniform(kRounds, kDrawn, kClasses).tries.mean().item<double>();
  const at::Tensor logits = given.weight.matmul(given.x[0][0]) + given.bias;
  const double whole = (logits.logsumexp(0) - logits[7]).item<double>();
  EXPECT_NEAR(sampled.exp().mean().log().item<double>(),
              whole + std::log(expected_count(7, kClasses, tries)), 0.15);
}

TEST_F(SampledSoftmax, DrawsDifferentClassesAfreshForEachPosition) {
  const Candidates candidates = draw_log_uniform(200, kDrawn, kClasses);
  std::set<std::vector<int64_t>> rows;
  for (int64_t t = 0; t < 200; ++t) {
    const auto* ids = candidates.ids[t].const_data_ptr<int64_t>();
    const std::set<int64_t> row(ids, ids + kDrawn);
    EXPECT_EQ(std::ssize(row), kDrawn);
    EXPECT_GE(*row.begin(), 0);
    EXPECT_LT(*row.rbegin(), kClasses);
    EXPECT_GE(candidates.tries[t].item<float>(), kDrawn);
    rows.insert({row.begin(), row.end()});
  }
  EXPECT_GT(rows.size(), 150U);
}

TEST_F(SampledSoftmax, DrawsByTheLogUniformDistribution) {
  constexpr int64_t kRounds = 20'000;
  const at::Tensor first = draw_log_uniform(kRounds, 1, kClasses).ids.flatten();
  for (int64_t id = 0; id < kClasses; ++id) {
    const double found = first.eq(id).sum().item<double>() / kRounds;
    const double expected = share(id, kClasses);
    EXPECT_NEAR(found, expected, 4 * std::sqrt(expected / kRounds)) << id;
  }
}

TEST_F(SampledSoftmax, DrawsAllClassesWhereAllAreAskedFor) {
  const Candidates candidates = draw_log_uniform(1, kClasses, kClasses);
  const auto* ids = candidates.ids.const_data_ptr<int64_t>();
  EXPECT_EQ(std::set<int64_t>(ids, ids + kClasses).size(), static_cast<std::size_t>(kClasses));
}

TEST_F(SampledSoftmax, TakesFiveHundredOfFortyThousandInEightHundredTries) {
  const double tries = draw_log_uniform(50, 512, 40'000).tries.mean().item<double>();
  EXPECT_NEAR(tries, 810, 30);
}

TEST_F(SampledSoftmax, RefusesMoreCandidatesThanClasses) {
  EXPECT_THROW(draw_log_uniform(1, 21, 20), std::invalid_argument);
}

TEST_F(SampledSoftmax, DrawsTheSameForTheSameSeed) {
  at::manual_seed(8);
  const at::Tensor first = draw_log_uniform(5, kDrawn, kClasses).ids;
  at::manual_seed(8);
  EXPECT_TRUE(at::equal(draw_log_uniform(5, kDrawn, kClasses).ids, first));
}

}  // namespace
}  // namespace fathom::ops
