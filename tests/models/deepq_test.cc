#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fixtures/machine/device.h"
#include "models/table.h"
#include "tests/models/parameters.h"

namespace fathom::models {
namespace {

/// The batch's positions: states, taken actions, rewards, terminals, values of the next states.
enum Field : std::size_t { kStates, kTaken, kRewards, kTerminals, kNextValues };

double huber(double difference) {
  const double size = std::abs(difference);
  const double quadratic = std::min(size, 1.0);
  return quadratic * quadratic / 2 + size - quadratic;
}

/// The loss from the values of the online network: the chosen action's, never the largest.
double reference(Workload& deepq, const fixtures::Batch& batch) {
  const torch::NoGradGuard no_grad;
  const at::Tensor values = deepq.infer(batch);
  double sum = 0;
  for (int64_t n = 0; n < values.size(0); ++n) {
    const double aim =
        batch[kRewards][n].item<double>() + (batch[kTerminals][n].item<double>() != 0
                                                 ? 0
                                                 : 0.99 * batch[kNextValues][n].item<double>());
    sum += huber(aim - values[n][batch[kTaken][n][0].item<int64_t>()].item<double>());
  }
  return sum;
}

class DeepQ : public testing::Test {
 protected:
  DeepQ() {
    fixtures::set_threads(1);
    at::manual_seed(1);
  }
};

TEST_F(DeepQ, AgreesWithTheClippedLossInFloat64) {
  const auto deepq = workload("deepq").make(Scale::kSmall);
  fixtures::Batch batch = deepq->pool({.batch = 6, .seed = 2}).batches[0];
  deepq->module().to(at::kDouble);
  for (const auto field : {kStates, kRewards, kTerminals, kNextValues}) {
    batch[field] = batch[field].to(at::kDouble);
  }
  batch[kRewards] = at::tensor({-3.0, -1.0, 0.0, 0.5, 1.0, 4.0});  // both sides of both clips
  batch[kTerminals] = at::tensor({0.0, 1.0, 0.0, 1.0, 0.0, 1.0});
  tests::expect_gradients(
      tests::parameters(*deepq), [&] { return deepq->loss(batch); },
      [&] { return reference(*deepq, batch); }, 20);
}

TEST_F(DeepQ, TrainsTheOnlineNetworkOnly) {
  const auto deepq = workload("deepq").make(Scale::kSmall);
  const auto before = deepq->module().named_parameters();
  const at::Tensor target = before["target.hidden.weight"].clone();
  const at::Tensor online = before["online.hidden.weight"].detach().clone();
  EXPECT_TRUE(target.equal(online));
  deepq->loss(deepq->pool({.batch = 4}).batches[0]).backward();
  deepq->update();
  const auto after = deepq->module().named_parameters();
  EXPECT_TRUE(after["target.hidden.weight"].equal(target));
  EXPECT_FALSE(after["online.hidden.weight"].equal(online));
}

TEST_F(DeepQ, LowersTheLossOfAFixedReplay) {
  const auto deepq = workload("deepq").make(Scale::kFull);
  const auto batches = deepq->pool({.batch = 32, .count = 2, .seed = 5}).batches;
  const auto round = [&] {
    double sum = 0;
    for (const auto& batch : batches) {
      const at::Tensor loss = deepq->loss(batch);
      sum += loss.item<double>();
      loss.backward();
      deepq->update();
    }
    return sum;
  };
  const double first = round();
  for (int i = 0; i < 30; ++i) round();
  EXPECT_LT(round(), first / 2);
}

TEST_F(DeepQ, ActsOnStatesInRange) {
  const auto batch = workload("deepq").make(Scale::kSmall)->pool({.batch = 8}).batches[0];
  EXPECT_EQ(batch[kStates].sizes(), (std::vector<int64_t>{8, 4, 84, 84}));
  EXPECT_GE(batch[kStates].min().item<float>(), 0);
  EXPECT_LE(batch[kStates].max().item<float>(), 1);
  EXPECT_GT(batch[kStates].max().item<float>(), 0.3);
}

}  // namespace
}  // namespace fathom::models
