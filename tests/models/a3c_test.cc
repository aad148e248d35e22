#include "models/tbd/a3c.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "benchmarks/tasks/model_task.h"
#include "fixtures/games/rollouts.h"
#include "fixtures/machine/device.h"
#include "fixtures/random.h"
#include "models/step.h"
#include "models/table.h"
#include "ops/profiler/flops.h"
#include "tests/models/parameters.h"

namespace fathom::models {
namespace {

using fixtures::Batch;
using fixtures::kEarned;
using fixtures::kEnded;
using fixtures::kLatest;
using fixtures::kSeen;
using fixtures::kTaken;

constexpr int64_t kActions = 6;

std::unique_ptr<A3c> small_a3c() {
  fixtures::set_threads(1);
  at::manual_seed(1);
  return std::make_unique<A3c>(ActorCritic(2, 32, kActions));  // channels, hidden units
}

ActorCriticImpl& net_of(A3c& a3c) { return *a3c.module().as<ActorCritic>(); }

double number(const at::Tensor& tensor) { return tensor.item<double>(); }

/// Returns [T][N] in plain loops.
std::vector<std::vector<double>> returns(const at::Tensor& latest_values, const Batch& batch) {
  const int64_t steps = batch[kEarned].size(0);
  const int64_t count = batch[kEarned].size(1);
  std::vector<std::vector<double>> found;
  for (int64_t t = 0; t < steps; ++t) {
    auto& row = found.emplace_back();
    for (int64_t n = 0; n < count; ++n) {
      double sum = 0;
      double weight = 1;
      for (int64_t later = t; later < steps && weight > 0; ++later) {
        sum += weight * number(batch[kEarned][later][n]);
        weight *= number(batch[kEnded][later][n]) != 0 ? 0 : 0.99;
      }
      row.push_back(sum + weight * number(latest_values[n]));
    }
  }
  return found;
}

/// The gradient passes neither through the returns nor through the policy's advantages.
TEST(A3c, HasTheLossAndGradientsOfThePaperInFloat64) {
  const auto a3c = small_a3c();
  Batch batch = a3c->batches({.batch = 3, .seed = 1}).batches[0];
  a3c->module().to(at::kDouble);
  ActorCriticImpl& net = net_of(*a3c);
  batch[kEarned] = at::tensor({1.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, -1.0,  //
                               0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0})
                       .view({5, 3});
  batch[kEnded] = at::zeros({5, 3}, at::kDouble);
  batch[kEnded][1][0] = 1;
  batch[kEnded][4][2] = 1;
  const c10::NoGradGuard no_grad;
  const auto fixed_returns = returns(net.forward(batch[kLatest]).values, batch);
  const at::Tensor fixed_values = net.forward(batch[kSeen]).values;
  const auto reference = [&] {
    const auto [logits, values] = net.forward(batch[kSeen]);
    double sum = 0;
    for (int64_t t = 0; t < 5; ++t) {
      for (int64_t n = 0; n < 3; ++n) {
        const int64_t row = 3 * t + n;
        const double reward =
            fixed_returns[static_cast<std::size_t>(t)][static_cast<std::size_t>(n)];
        double total = 0;
        for (int64_t a = 0; a < kActions; ++a) total += std::exp(number(logits[row][a]));
        double entropy = 0;
        for (int64_t a = 0; a < kActions; ++a) {
          const double chance = std::exp(number(logits[row][a])) / total;
          entropy -= chance * std::log(chance);
          if (a != batch[kTaken][row][0].item<int64_t>()) continue;
          sum -= std::log(chance) * (reward - number(fixed_values[row]));
        }
        sum += std::pow(reward - number(values[row]), 2) / 2 - 0.01 * entropy;
      }
    }
    return sum / 3;
  };
  const auto loss = [&] {
    const c10::AutoGradMode with_gradients(true);
    return a3c->loss(batch);
  };
  tests::expect_gradients(tests::parameters(*a3c), loss, reference, 8);
}

TEST(A3c, DrawsActionsAsOftenAsItsProbabilitiesSay) {
  constexpr int64_t kDraws = 4000;
  const auto a3c = small_a3c();
  const c10::NoGradGuard no_grad;
  net_of(*a3c).named_parameters()["policy.bias"].copy_(at::tensor({1.0, -1.0, 0.0, 2.0, 0.5, 0.0}));
  const Batch batch = a3c->batches({.seed = 3, .training = false}).batches[0];
  EXPECT_EQ(batch.size(), 1U);
  const at::Tensor chances = a3c->infer({batch[kLatest].expand({kDraws, 4, 84, 84})})[0];
  EXPECT_NEAR(number(chances.sum()), 1, 1e-5);
  const at::Tensor& drawn = a3c->drawn_actions();
  EXPECT_EQ(drawn.sizes(), (std::vector<int64_t>{kDraws, 1}));
  for (int64_t a = 0; a < kActions; ++a) {
    const double chance = number(chances[a]);
    EXPECT_NEAR(number(drawn.eq(a).to(at::kDouble).mean()), chance,
                5 * std::sqrt(chance * (1 - chance) / kDraws))
        << a;
  }
}

/// Forward and backward pass of five states of an environment, and forward of the latest.
TEST(A3c, HasTheArithmeticOfSixForwardAndFiveBackwardPasses) {
  Step step(workload("a3c"), {.batch = 2});
  EXPECT_EQ(ops::count_flops([&] { step.run(); }).flops, 2 * 2 * 39'284'736.0);
}

TEST(A3c, CountsTheStepsOfItsEnvironments) {
  const auto items = [](Mode mode) {
    const StepOptions options{.mode = mode, .batch = 4, .scale = Scale::kSmall};
    return benchmarks::make_model_task(workload("a3c"), options)->counts().items;
  };
  EXPECT_EQ(items(Mode::kTrain), 20);
  EXPECT_EQ(items(Mode::kInfer), 4);
}

// ---- learning

TEST(A3c, LowersTheLossOfABatchWithRewards) {
  const auto a3c = small_a3c();
  const Batch batch = a3c->batches({.batch = 32, .seed = 2}).batches[0];
  EXPECT_GT(number(batch[kEarned].sum()), 0);
  std::vector<double> losses;
  for (int i = 0; i <= 150; ++i) {
    const at::Tensor loss = a3c->loss(batch);
    losses.push_back(number(loss));
    loss.backward();
    a3c->update();
  }
  EXPECT_LT(losses.back(), 0.95 * losses.front());
}

/// A corridor of four cells, in which action 1 goes to the right and action 0 to the left. The last
/// cell earns points and ends the episode. The next one begins in any other cell. With many points
/// the gradients soon outweigh RMSProp's first mean square, so that it learns in few updates.
class Corridor {
 public:
  static constexpr int64_t kCells = 4;
  static constexpr float kPoints = 20;

  explicit Corridor(uint64_t seed) : random_(seed) { begin(); }

  /// The points, which are above 0 at the end of an episode.
  float step(int64_t action) {
    if (action == 0) cell_ = std::max<int64_t>(cell_ - 1, 0);
    if (action == 1) ++cell_;
    if (cell_ + 1 < kCells) return 0;
    begin();
    return kPoints;
  }

  /// White where the agent is.
  static at::Tensor picture(int64_t cell) {
    constexpr int64_t kWidth = 84 / kCells;
    at::Tensor frames = at::zeros({4, 84, 84}, at::kByte);
    frames.narrow(2, cell * kWidth, kWidth).fill_(255);
    return frames;
  }
  at::Tensor state() const { return picture(cell_); }

 private:
  void begin() { cell_ = random_.below(kCells - 1); }

  fixtures::Random random_;
  int64_t cell_ = 0;
};

at::Tensor states(const std::vector<Corridor>& corridors) {
  std::vector<at::Tensor> all;
  for (const auto& corridor : corridors) all.push_back(corridor.state());
  return at::stack(all);
}

/// Five steps in each corridor.
Batch played(A3c& agent, std::vector<Corridor>& corridors) {
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> seen;
  std::vector<at::Tensor> taken;
  const at::Tensor earned = at::zeros({5, std::ssize(corridors)});
  for (int64_t t = 0; t < 5; ++t) {
    seen.push_back(states(corridors));
    agent.infer({seen.back()});
    taken.push_back(agent.drawn_actions());
    for (std::size_t n = 0; n < corridors.size(); ++n) {
      const auto column = static_cast<int64_t>(n);
      earned[t][column] = corridors[n].step(taken.back()[column][0].item<int64_t>());
    }
  }
  return {states(corridors), at::cat(seen), at::cat(taken), earned, earned.gt(0).to(at::kFloat)};
}

/// The smallest probability of going to the right, of all cells.
double chance_of_the_way_out(A3c& agent) {
  const c10::NoGradGuard no_grad;
  double smallest = 1;
  for (int64_t cell = 0; cell + 1 < Corridor::kCells; ++cell) {
    const at::Tensor chances = agent.infer({Corridor::picture(cell).unsqueeze(0)});
    smallest = std::min(smallest, number(chances[0][1]));
  }
  return smallest;
}

TEST(A3c, FindsTheWayOutOfACorridor) {
  constexpr int kMaxUpdates = 1000;
  constexpr double kSolved = 0.9;
  const auto agent = small_a3c();
  std::vector<Corridor> corridors;
  for (uint64_t n = 0; n < 4; ++n) corridors.emplace_back(n);
  EXPECT_LT(chance_of_the_way_out(*agent), 0.3);
  int updates = 0;
  while (updates < kMaxUpdates && chance_of_the_way_out(*agent) < kSolved) {
    for (int i = 0; i < 50; ++i, ++updates) {
      agent->loss(played(*agent, corridors)).backward();
      agent->update();
    }
  }
  EXPECT_GE(chance_of_the_way_out(*agent), kSolved) << updates << " updates";
  // The values are near the points, which are a few steps away.
  const c10::NoGradGuard no_grad;
  for (int64_t cell = 0; cell + 1 < Corridor::kCells; ++cell) {
    const at::Tensor value = net_of(*agent).forward(Corridor::picture(cell).unsqueeze(0)).values;
    EXPECT_NEAR(number(value), Corridor::kPoints, 0.25 * Corridor::kPoints) << cell;
  }
}

}  // namespace
}  // namespace fathom::models
