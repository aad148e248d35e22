#include "models/gradient_reduction.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <functional>
#include <thread>

#include "models/gradient_buckets.h"
#include "models/step.h"
#include "ops/types/shapes.h"

namespace fathom::models {
namespace {

using namespace std::chrono_literals;
using fixtures::Group;

constexpr auto kTimeout = 20s;

/// y = x W with a loss that is y's sum: the gradient of W is x. `unused` gets none.
class Linear final : public Workload {
 public:
  struct Net : torch::nn::Module {
    Net()
        : weight(register_parameter("weight", at::full({3}, 2.0))),
          unused(register_parameter("unused", at::full({2}, 1.0))) {}
    at::Tensor weight;
    at::Tensor unused;
  };

  fixtures::BatchSet batches(const fixtures::BatchRequest& /*request*/) const override {
    return {};
  }
  std::vector<int64_t> output_shape(int64_t batch) const override { return {batch}; }
  at::Tensor infer(const fixtures::Batch& batch) override { return (net.weight * batch[0]).sum(); }
  at::Tensor loss(const fixtures::Batch& batch) override { return infer(batch); }
  void update() override {
    const torch::NoGradGuard no_grad;
    net.weight.sub_(net.weight.grad());
    net.weight.mutable_grad().reset();
  }
  torch::nn::Module& module() override { return net; }
  std::vector<at::Tensor> optimizer_state() const override { return {state}; }
  at::Tensor* loss_in_update() override { return &last_loss; }

  Net net;
  at::Tensor state = at::ones({2});
  at::Tensor last_loss = at::ones({});
};

/// A rank's input, which is its gradient.
fixtures::Batch input_of(int rank) { return {at::full({3}, rank + 1.0)}; }

/// Runs `work` on two ranks, which are threads here.
void on_two_ranks(const std::function<void(const std::shared_ptr<const Group>&)>& work) {
  const auto store = fixtures::RankStore::serve(0, kTimeout);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(std::make_shared<const Group>(
            fixtures::RankStore::connect("127.0.0.1", store.port(), kTimeout),
            fixtures::GroupOptions{.name = "test",
                                   .rank = rank,
                                   .size = 2,
                                   .address = "127.0.0.1",
                                   .timeout = kTimeout}));
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

/// Forward and backward without reduction, from which the reducer is made.
void learn(Linear& workload, GradientReduction& reduction, int rank) {
  workload.loss(input_of(rank)).backward();
  reduction.learn(0);
}

void reduced_round(Linear& workload, GradientReduction& reduction, int rank) {
  reduction.before_forward(0);
  const at::Tensor loss = workload.loss(input_of(rank));
  reduction.before_backward();
  loss.backward();
  reduction.after_backward();
}

TEST(GradientReduction, AveragesTheGradientsOfAllRanks) {
  on_two_ranks([](const auto& group) {
    Linear workload;
    GradientReduction reduction(workload, {.group = group});
    learn(workload, reduction, group->rank());
    for (int step = 0; step < 3; ++step) {
      reduced_round(workload, reduction, group->rank());
      EXPECT_TRUE(at::equal(workload.net.weight.grad(), at::full({3}, 1.5)));
      EXPECT_FALSE(workload.net.unused.grad().defined());
      workload.update();
    }
    reduction.check_parameters();
  });
}

TEST(GradientReduction, StartsFromRank0) {
  on_two_ranks([](const auto& group) {
    Linear workload;
    {
      const torch::NoGradGuard no_grad;
      workload.net.weight.add_(group->rank());
      workload.state.add_(group->rank());
    }
    GradientReduction reduction(workload, {.group = group});
    EXPECT_TRUE(at::equal(workload.net.weight, at::full({3}, 2.0)));
    EXPECT_TRUE(at::equal(workload.state, at::ones({2})));
  });
}

TEST(GradientReduction, AcceptsTheMeanOfTheRanks) {
  on_two_ranks([](const auto& group) {
    Linear workload;
    GradientReduction reduction(workload, {.group = group});
    learn(workload, reduction, group->rank());
    reduced_round(workload, reduction, group->rank());
    EXPECT_NO_THROW(reduction.check(0));
  });
}

TEST(GradientReduction, RefusesOtherGradients) {
  on_two_ranks([](const auto& group) {
    Linear workload;
    GradientReduction reduction(workload, {.group = group});
    learn(workload, reduction, group->rank());
    workload.loss(input_of(group->rank())).backward();  // of this rank alone
    try {
      reduction.check(0);
      ADD_FAILURE() << "nothing was found";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("gradient of weight is not the mean"),
                std::string::npos);
    }
  });
}

TEST(GradientReduction, FindsParametersThatDiffer) {
  on_two_ranks([](const auto& group) {
    Linear workload;
    GradientReduction reduction(workload, {.group = group});
    reduction.check_parameters();
    {
      const torch::NoGradGuard no_grad;
      if (group->rank() == 1) workload.net.unused[1] = std::nextafter(1.0F, 2.0F);
    }
    try {
      reduction.check_parameters();
      ADD_FAILURE() << "nothing was found";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("parameter unused of rank"), std::string::npos);
    }
    reduction.copy_from_rank_0();
    EXPECT_NO_THROW(reduction.check_parameters());
  });
}

TEST(GradientReduction, AveragesTheLossThatAnUpdateNeeds) {
  on_two_ranks([](const auto& group) {
    Linear workload;
    GradientReduction reduction(workload, {.group = group});
    learn(workload, reduction, group->rank());
    workload.last_loss = at::full({}, group->rank() + 4.0);
    reduced_round(workload, reduction, group->rank());
    EXPECT_EQ(workload.last_loss.item<float>(), 4.5F);
    workload.last_loss = at::full({}, 100.0 * group->rank());
    reduction.after_backward();  // of a step that is not reduced: learning rates stay equal
    EXPECT_EQ(workload.last_loss.item<float>(), 4.5F);
  });
}

TEST(GradientReduction, CountsWhatItReduces) {
  on_two_ranks([](const auto& group) {
    Linear workload;
    GradientReduction reduction(workload, {.group = group});
    learn(workload, reduction, group->rank());
    reduction.watch();
    for (int step = 0; step < 2; ++step) {
      reduced_round(workload, reduction, group->rank());
      workload.update();
    }
    const Communication all = reduction.stop_watching();
    EXPECT_EQ(all.bytes, 24);
    EXPECT_EQ(all.buckets, 2);
    EXPECT_GT(all.seconds, 0);
    EXPECT_LE(all.overlapped, all.seconds);
  });
}

/// Trains a small workload on one rank with reduction.
Step step_of_one_rank(const WorkloadRow& row) {
  const auto store = fixtures::RankStore::serve(0, kTimeout);
  const auto group = std::make_shared<const Group>(
      store, fixtures::GroupOptions{
                 .name = "one", .rank = 0, .size = 1, .address = "127.0.0.1", .timeout = kTimeout});
  return Step(row, {.batch = 2, .scale = Scale::kSmall, .ranks = {.group = group}});
}

std::vector<const WorkloadRow*> trained(bool (*chosen)(const WorkloadRow&)) {
  std::vector<const WorkloadRow*> rows;
  for (const auto& row : workloads()) {
    if (row.trains && chosen(row)) rows.push_back(&row);
  }
  return rows;
}

std::string name_of(const testing::TestParamInfo<const WorkloadRow*>& one) {
  return std::string(one.param->name);
}

/// seq2seq's embeddings have sparse gradients, in buckets of their own.
bool is_sparse(const WorkloadRow& row) { return row.name.starts_with("seq2seq"); }

class TrainedOnRanks : public testing::TestWithParam<const WorkloadRow*> {};

INSTANTIATE_TEST_SUITE_P(
    Workloads, TrainedOnRanks,
    testing::ValuesIn(trained([](const WorkloadRow& /*row*/) { return true; })), name_of);

/// Reduces each of its gradients once a step; a round of wgan's critic comes five times.
class ReducedOnce : public testing::TestWithParam<const WorkloadRow*> {};

INSTANTIATE_TEST_SUITE_P(Workloads, ReducedOnce,
                         testing::ValuesIn(trained([](const WorkloadRow& row) {
                           return !is_sparse(row) && row.name != "wgan";
                         })),
                         name_of);

TEST_P(TrainedOnRanks, EveryWorkloadHasReducers) {
  Step step = step_of_one_rank(*GetParam());  // checks its gradients
  step.run();
  step.run_local();
  step.run();
  step.reduction()->check_parameters();
  step.reduction()->watch();
  step.run();
  EXPECT_GT(step.reduction()->stop_watching().bytes, 0);
}

TEST_P(ReducedOnce, BucketsAreThoseOfTheReducer) {
  const WorkloadRow& row = *GetParam();
  Step plain(row, {.batch = 2, .scale = Scale::kSmall});
  Step ranks = step_of_one_rank(row);
  ranks.run();
  ranks.reduction()->watch();
  ranks.run();
  EXPECT_EQ(std::ssize(gradient_buckets(plain)), ranks.reduction()->stop_watching().buckets);
}

TEST_P(TrainedOnRanks, RecordedBucketsHoldTheDenseGradients) {
  const WorkloadRow& row = *GetParam();
  int64_t sum = 0;
  for (const int64_t elements : ops::gradient_buckets(shapes_text(row))) sum += elements;
  EXPECT_EQ(sum, is_sparse(row) ? row.parameters - int64_t{2} * 40'000 * 256 : row.parameters);
}

TEST(SummedLoss, GradientsAddUp) {
  const WorkloadRow& row = workload("deepq");
  ASSERT_TRUE(row.sums_loss);
  on_two_ranks([&](const auto& group) {
    Step step(row, {.batch = 2, .scale = Scale::kSmall, .ranks = {.group = group}});
    step.forward();
    step.backward();
    const at::Tensor gradient = step.workload().module().parameters()[0].grad().clone();
    const at::Tensor loss = step.result();
    step.forward();
    step.result().backward();
    // On top of twice the gradient of the loss, since the mean of two ranks halves it again.
    EXPECT_TRUE(at::allclose(step.workload().module().parameters()[0].grad(), 1.5 * gradient));
  });
}

}  // namespace
}  // namespace fathom::models
