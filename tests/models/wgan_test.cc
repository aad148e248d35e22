// wgan: rounds of a step, and the critic's loss with its gradient penalty.
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/container/sequential.h>

#include <memory>
#include <string>
#include <vector>

#include "fixtures/machine/device.h"
#include "models/table.h"

namespace fathom::models {
namespace {

using fixtures::Batch;

constexpr int kRounds = 6;
/// Positions in a batch of wgan.cc.
enum Field : std::size_t { kNoise, kReal, kMixing };

class Wgan : public testing::Test {
 protected:
  Wgan() {
    fixtures::set_threads(1);
    at::manual_seed(1);
    net_ = workload("wgan").make(Scale::kSmall);
  }

  std::vector<at::Tensor> parameters(const std::string& network) const {
    return net_->module().named_children()[network]->parameters();
  }
  std::vector<at::Tensor> copies(const std::string& network) const {
    std::vector<at::Tensor> made;
    for (const auto& one : parameters(network)) made.push_back(one.detach().clone());
    return made;
  }
  Batch batch(int64_t size) const { return net_->batches({.batch = size, .seed = 2}).batches[0]; }
  void train_round(const Batch& batch) {
    net_->loss(batch).backward();
    net_->update();
  }
  torch::nn::SequentialImpl& network(const std::string& name) const {
    return *net_->module().named_children()[name]->as<torch::nn::SequentialImpl>();
  }
  /// The critic's mean value of images [N, 3, 16, 16].
  double mean_value(const at::Tensor& images) const {
    const c10::NoGradGuard no_grad;
    return network("critic").forward(images).mean().item<double>();
  }

  std::unique_ptr<Workload> net_;
};

bool equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!at::equal(a[i], b[i])) return false;
  }
  return true;
}

TEST_F(Wgan, UpdatesTheGeneratorOnceAndThenTheCriticFiveTimes) {
  const Batch one = batch(4);
  for (int round = 0; round < 2 * kRounds; ++round) {
    const auto generator = copies("generator");
    const auto critic = copies("critic");
    train_round(one);
    const bool of_generator = round % kRounds == 0;
    EXPECT_EQ(equal(copies("generator"), generator), !of_generator) << round;
    EXPECT_EQ(equal(copies("critic"), critic), of_generator) << round;
  }
}

TEST_F(Wgan, ReadsOtherImagesInEachRoundOfTheCritic) {
  const Batch one = batch(4);
  for (int64_t round = 0; round < kRounds; ++round) {
    Batch changed = one;
    if (round > 0) {
      changed[kReal] = one[kReal].clone();
      changed[kReal].narrow(0, 4 * (round - 1), 4).zero_();
      EXPECT_FALSE(at::equal(net_->loss(changed), net_->loss(one))) << round;
      changed[kReal] = one[kReal].narrow(0, 4 * (round - 1), 4).repeat({5, 1, 1, 1});
    } else {
      changed[kReal] = one[kReal].clone().zero_();
    }
    EXPECT_TRUE(at::equal(net_->loss(changed), net_->loss(one))) << round;
    train_round(one);
  }
}

/// Equation 3 of the paper, with the weight 10.
TEST_F(Wgan, HasTheLossOfThePaper) {
  constexpr int64_t kSize = 4;
  const Batch one = batch(kSize);
  train_round(one);  // the generator's
  const at::Tensor noise = one[kNoise].narrow(0, kSize, kSize);
  const at::Tensor real = one[kReal].narrow(0, 0, kSize);
  const at::Tensor share = one[kMixing].narrow(0, 0, kSize);
  const at::Tensor made_up = network("generator").forward(noise).detach();
  const at::Tensor between = (real + share * (made_up - real)).requires_grad_();
  const at::Tensor gradient =
      torch::autograd::grad({network("critic").forward(between).sum()}, {between})[0];
  const double penalty = 10 * (gradient.flatten(1).norm(2, 1) - 1).square().mean().item<double>();
  EXPECT_GT(penalty, 0.1);
  EXPECT_NEAR(net_->loss(one).item<double>(), mean_value(made_up) - mean_value(real) + penalty,
              1e-4 * penalty);
}

TEST_F(Wgan, HasTheGradientsOfItsPenalty) {
  net_->module().to(at::kDouble);
  Batch one = batch(2);
  for (auto& tensor : one) tensor = tensor.to(at::kDouble);
  train_round(one);  // the generator's
  net_->loss(one).backward();
  const auto loss = [&] { return net_->loss(one).item<double>(); };
  constexpr double kStep = 1e-5;
  for (auto& parameter : parameters("critic")) {
    const at::Tensor direction = at::randn_like(parameter.detach());
    const double expected = (parameter.grad() * direction).sum().item<double>();
    const auto move = [&](double distance) {
      const c10::NoGradGuard no_grad;
      parameter.add_(direction, distance);
    };
    move(kStep);
    const double after = loss();
    move(-2 * kStep);
    const double before = loss();
    move(kStep);
    EXPECT_NEAR((after - before) / (2 * kStep), expected, 1e-6 * std::max(1.0, std::abs(expected)));
  }
}

TEST_F(Wgan, SeparatesTwoGaussians) {
  Batch one = batch(8);
  const auto real = [] { return at::randn({40, 3, 16, 16}).mul_(0.2).add_(0.5); };
  for (int step = 0; step < 40; ++step) {
    one[kReal] = real();
    for (int round = 0; round < kRounds; ++round) train_round(one);
  }
  const at::Tensor other = at::randn({40, 3, 16, 16}).mul_(0.2).sub_(0.5);
  EXPECT_GT(mean_value(real()), mean_value(other) + 1);
}

}  // namespace
}  // namespace fathom::models
