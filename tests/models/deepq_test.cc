#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

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

using Vector = std::vector<double>;

/// ReLU of a convolution without padding in plain loops: one image, [C, side, side].
Vector convolved(const Vector& x, int64_t side, const at::Tensor& weight, const at::Tensor& bias,
                 int64_t stride) {
  const int64_t kernel = weight.size(2);
  const int64_t outputs = (side - kernel) / stride + 1;
  const auto w = weight.accessor<double, 4>();
  Vector y;
  for (int64_t k = 0; k < weight.size(0); ++k) {
    for (int64_t i = 0; i < outputs; ++i) {
      for (int64_t j = 0; j < outputs; ++j) {
        double sum = bias[k].item<double>();
        for (int64_t c = 0; c < weight.size(1); ++c) {
          for (int64_t r = 0; r < kernel; ++r) {
            const auto* row =
                &x[static_cast<std::size_t>((c * side + i * stride + r) * side + j * stride)];
            for (int64_t s = 0; s < kernel; ++s) sum += w[k][c][r][s] * row[s];
          }
        }
        y.push_back(std::max(sum, 0.0));
      }
    }
  }
  return y;
}

Vector dense(const Vector& x, const at::Tensor& weight, const at::Tensor& bias) {
  const auto w = weight.accessor<double, 2>();
  Vector y;
  for (int64_t o = 0; o < weight.size(0); ++o) {
    double sum = bias[o].item<double>();
    for (std::size_t i = 0; i < x.size(); ++i) sum += w[o][static_cast<int64_t>(i)] * x[i];
    y.push_back(sum);
  }
  return y;
}

/// The action values of one state [4, 84, 84]: the network of the paper's "Model architecture".
Vector action_values(torch::nn::Module& net, const at::Tensor& state) {
  const auto parameters = net.named_parameters();
  const auto weight = [&](const std::string& layer) {
    return parameters["online." + layer + ".weight"];
  };
  const auto bias = [&](const std::string& layer) {
    return parameters["online." + layer + ".bias"];
  };
  const auto* pixels = state.const_data_ptr<double>();
  Vector x(pixels, pixels + state.numel());
  x = convolved(x, 84, weight("conv1"), bias("conv1"), 4);
  x = convolved(x, 20, weight("conv2"), bias("conv2"), 2);
  x = convolved(x, 9, weight("conv3"), bias("conv3"), 1);
  x = dense(x, weight("hidden"), bias("hidden"));
  for (double& unit : x) unit = std::max(unit, 0.0);
  return dense(x, weight("values"), bias("values"));
}

/// The loss from the values that infer() gives for the actions taken. Another test compares
/// infer() with plain loops.
double reference(Workload& deepq, const fixtures::Batch& batch) {
  const torch::NoGradGuard no_grad;
  const at::Tensor values = deepq.infer(batch);
  double sum = 0;
  for (int64_t n = 0; n < values.size(0); ++n) {
    const double target =
        batch[kRewards][n].item<double>() + (batch[kTerminals][n].item<double>() != 0
                                                 ? 0
                                                 : 0.99 * batch[kNextValues][n].item<double>());
    sum += huber(target - values[n][batch[kTaken][n][0].item<int64_t>()].item<double>());
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

TEST_F(DeepQ, GivesTheValuesOfPlainLoopsInFloat64) {
  const auto deepq = workload("deepq").make(Scale::kSmall);
  fixtures::Batch batch = deepq->batches({.batch = 3, .seed = 2}).batches[0];
  batch[kStates] = batch[kStates].to(at::kDouble);
  deepq->module().to(at::kDouble);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : deepq->module().parameters()) parameter.normal_(0, 0.1);
  const at::Tensor values = deepq->infer(batch);
  for (int64_t n = 0; n < 3; ++n) {
    const Vector expected = action_values(deepq->module(), batch[kStates][n].contiguous());
    ASSERT_EQ(std::ssize(expected), values.size(1));
    for (int64_t action = 0; action < values.size(1); ++action) {
      const double value = expected[static_cast<std::size_t>(action)];
      EXPECT_NEAR(values[n][action].item<double>(), value, 1e-10 * (1 + std::abs(value)));
    }
  }
}

TEST_F(DeepQ, AgreesWithTheClippedLossInFloat64) {
  const auto deepq = workload("deepq").make(Scale::kSmall);
  fixtures::Batch batch = deepq->batches({.batch = 6, .seed = 2}).batches[0];
  deepq->module().to(at::kDouble);
  for (const auto field : {kStates, kRewards, kTerminals, kNextValues}) {
    batch[field] = batch[field].to(at::kDouble);
  }
  batch[kRewards] =
      at::tensor({-3.0, -1.0, 0.0, 0.5, 1.0, 4.0});  // below, inside and above the quadratic range
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
  deepq->loss(deepq->batches({.batch = 4}).batches[0]).backward();
  deepq->update();
  const auto after = deepq->module().named_parameters();
  EXPECT_TRUE(after["target.hidden.weight"].equal(target));
  EXPECT_FALSE(after["online.hidden.weight"].equal(online));
}

TEST_F(DeepQ, LowersTheLossOfAFixedReplay) {
  const auto deepq = workload("deepq").make(Scale::kFull);
  const auto batches = deepq->batches({.batch = 32, .count = 2, .seed = 5}).batches;
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
  const auto batch = workload("deepq").make(Scale::kSmall)->batches({.batch = 8}).batches[0];
  EXPECT_EQ(batch[kStates].sizes(), (std::vector<int64_t>{8, 4, 84, 84}));
  EXPECT_GE(batch[kStates].min().item<float>(), 0);
  EXPECT_LE(batch[kStates].max().item<float>(), 1);
  EXPECT_GT(batch[kStates].max().item<float>(), 0.3);
}

}  // namespace
}  // namespace fathom::models
