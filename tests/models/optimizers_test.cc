// The updates that run on a GPU, on the CPU: they compute what the CPU's own updates compute.
#include "models/optimizers.h"

#include <ATen/Context.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sparse_coo_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/utils/clip_grad.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/plateau_sgd.h"
#include "ops/kernels/fused_optimizer.h"

namespace fathom::models {
namespace {

using List = std::vector<at::Tensor>;

/// A filter of size 1, whose strides are ambiguous, and a matrix with a bias; in float64.
class NetImpl : public torch::nn::Module {
 public:
  NetImpl() {
    register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 1)));
    register_module("dense", torch::nn::Linear(5, 2));
    to(at::kDouble);
  }
};
TORCH_MODULE(Net);

void set_gradients(const List& parameters, uint64_t seed) {
  at::manual_seed(seed);
  for (const auto& parameter : parameters) {
    const at::Tensor gradient = at::randn(parameter.sizes(), at::kDouble);
    // Autograd may return any strides in dimensions of size 1.
    parameter.mutable_grad() =
        parameter.dim() == 4 ? gradient.as_strided(parameter.sizes(), {3, 1, 3, 3}) : gradient;
  }
}

struct Case {
  const char* name;
  ops::UpdateRule rule;
  Optimizer (*make)();
  double tolerance = 1e-10;  ///< relative
};

constexpr ops::Adam kWarmingAdam{.rate = 0.1, .beta2 = 0.98, .epsilon = 1e-9, .warm_up = 3};

class FusedUpdates : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Rules, FusedUpdates,
    testing::Values(Case{"Sgd", ops::Sgd{.rate = 0.1}, [] { return sgd(0.1); }},
                    Case{"Momentum",
                         ops::Momentum{.rate = 0.1, .momentum = 0.9, .weight_decay = 0.02},
                         [] { return momentum(0.1, 0.9, 0.02); }},
                    Case{"Nesterov",
                         ops::Nesterov{.rate = 0.1, .momentum = 0.9, .weight_decay = 0.02},
                         [] { return nesterov(0.1, 0.9, 0.02); }},
                    Case{"Adam", ops::Adam{.rate = 0.1}, [] { return adam(0.1); }},
                    Case{"WarmingAdam", kWarmingAdam, [] { return adam(kWarmingAdam); },
                         1e-6},  // the rate on a device is in float
                    Case{"AdamW", ops::AdamW{.rate = 0.1, .weight_decay = 0.02, .beta2 = 0.95},
                         [] { return adamw(0.1, 0.02, 0.9, 0.95); }},
                    Case{"Adagrad", ops::Adagrad{.rate = 0.1, .weight_decay = 0.02},
                         [] { return adagrad(0.1, 0.02); }}),
    [](const auto& one) { return std::string(one.param.name); });

TEST_P(FusedUpdates, AreTheUpdatesOfTorchOptimInFloat64) {
  const Net expected;
  const Net net;
  const torch::NoGradGuard no_grad;
  const List parameters = net->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].copy_(expected->parameters()[i]);
  }
  Optimizer torch_optim = GetParam().make();
  ops::FusedOptimizer fused(GetParam().rule, parameters);
  for (uint64_t step = 1; step <= 4; ++step) {
    set_gradients(expected->parameters(), step);
    torch_optim.step(*expected);
    set_gradients(parameters, step);
    fused.step();
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(parameters[i].allclose(expected->parameters()[i], GetParam().tolerance, 1e-12))
        << i;
  }
  EXPECT_EQ(fused.states().size(), torch_optim.state().size());
}

/// Where the gradient never changes, a step of Adam is the rate.
TEST(WarmUp, RisesLinearlyAndFallsWithTheRoot) {
  const at::Tensor parameter = at::zeros({1}, at::kDouble);
  Optimizer optimizer = adam({.rate = 2, .beta1 = 0.9, .beta2 = 0.9, .warm_up = 4});
  double before = 0;
  for (const double rate : {0.25, 0.5, 0.75, 1.0, 2 / std::sqrt(5), 2 / std::sqrt(6)}) {
    parameter.mutable_grad() = at::full({1}, -3, at::kDouble);
    optimizer.step(List{parameter});
    EXPECT_NEAR(parameter.item<double>() - before, rate, 1e-7);
    before = parameter.item<double>();
  }
}

TEST(FusedUpdates, RefuseRmsProp) {
  const ops::RmsProp rule{.rate = 0.1, .alpha = 0.9, .epsilon = 0.1};
  EXPECT_THROW(ops::FusedOptimizer(rule, {}), std::invalid_argument);
}

/// Two steps, with mean squares that start at 1 and an epsilon inside the root.
TEST(RmsPropOfTensorFlow, IsTheFormulaAndFreesTheGradients) {
  const Net net;
  List expected;
  List squares;
  for (const auto& parameter : net->parameters()) {
    expected.push_back(parameter.detach().clone());
    squares.push_back(at::ones_like(parameter));
  }
  RmsProp optimizer(ops::RmsProp{.rate = 0.1, .alpha = 0.9, .epsilon = 0.2});
  EXPECT_TRUE(optimizer.state().empty());
  for (uint64_t step = 1; step <= 2; ++step) {
    set_gradients(net->parameters(), step);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const at::Tensor gradient = net->parameters()[i].grad();
      squares[i] = 0.9 * squares[i] + 0.1 * gradient.square();
      expected[i] -= 0.1 * gradient / (squares[i] + 0.2).sqrt();
    }
    optimizer.step(*net);
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor parameter = net->parameters()[i];
    EXPECT_TRUE(parameter.detach().allclose(expected[i], 1e-10, 1e-12)) << i;
    EXPECT_TRUE(optimizer.state()[i].allclose(squares[i], 1e-10, 1e-12)) << i;
    EXPECT_FALSE(parameter.grad().defined());
  }
}

TEST(ForeachClip, IsClipGradNorm) {
  for (const double max_norm : {0.5, 1e3}) {
    const Net expected;
    const Net net;
    set_gradients(expected->parameters(), 1);
    set_gradients(net->parameters(), 1);
    torch::nn::utils::clip_grad_norm_(expected->parameters(), max_norm);
    ops::foreach_clip_norm(ops::gradients_like(net->parameters()), max_norm);
    for (std::size_t i = 0; i < net->parameters().size(); ++i) {
      EXPECT_TRUE(
          net->parameters()[i].grad().allclose(expected->parameters()[i].grad(), 1e-12, 1e-14));
    }
  }
}

TEST(GradientsLike, NeedsAGradientOfEveryParameter) {
  const Net net;
  set_gradients(net->parameters(), 1);
  net->parameters().back().mutable_grad().reset();
  EXPECT_THROW(ops::gradients_like(net->parameters()), c10::Error);
}

/// A gradient of [7, 3] with rows for six indices, some of which repeat.
at::Tensor sparse_gradient(uint64_t seed) {
  at::manual_seed(seed);
  return at::sparse_coo_tensor(at::randint(0, 4, {1, 6}, at::kLong), at::randn({6, 3}, at::kDouble),
                               {7, 3});
}

TEST(SummedRows, AddRowsOfOneIndex) {
  const at::Tensor gradient = sparse_gradient(3);
  const at::Tensor rows = summed_rows(gradient);
  EXPECT_EQ(rows.sizes(), gradient._values().sizes());
  const at::Tensor ids = gradient._indices()[0];
  EXPECT_TRUE(
      at::zeros({7, 3}, at::kDouble).index_add_(0, ids, rows).allclose(gradient.to_dense()));
  EXPECT_NEAR(rows.norm().item<double>(), gradient.coalesce().values().norm().item<double>(),
              1e-12);
}

/// The step of the high loss has the rate before.
TEST(PlateauSgd, DecaysTheRateOfLaterSteps) {
  PlateauSgd cpu(0.5, 2);
  PlateauSgd device(0.5, 2);
  const at::Tensor parameter = at::zeros({1}, at::kDouble);
  const auto moved = [&](const auto& step) {
    parameter.zero_();
    parameter.mutable_grad() = at::ones_like(parameter);
    step();
    return -parameter.item<double>();
  };
  const List list{parameter};
  double rate = 0.5;
  for (const double loss : {2, 1, 1, 3, 1}) {
    const at::Tensor number = at::scalar_tensor(loss, at::kDouble);
    EXPECT_NEAR(moved([&] { cpu.step(list, number); }), rate, 1e-9) << "loss " << loss;
    EXPECT_NEAR(moved([&] { device.step_on_device(list, number); }), rate, 1e-6);
    if (loss == 3) rate *= 0.99;
  }
}

TEST(PlateauSgd, StepsOnADeviceAsOnTheCpu) {
  PlateauSgd cpu(0.5, 2);
  PlateauSgd device(0.5, 2);
  const List first{at::zeros({7, 3}, at::kDouble), at::zeros({4, 1}, at::kDouble)};
  const List second{first[0].clone(), first[1].clone()};
  const double losses[]{5, 4, 3, 4, 6, 6, 7, 1, 2, 8};
  uint64_t seed = 0;
  for (const double loss : losses) {
    ++seed;
    for (const List* parameters : {&first, &second}) {
      (*parameters)[0].mutable_grad() = sparse_gradient(seed);
      // Norms above and below the maximum.
      (*parameters)[1].mutable_grad() = at::randn({4, 1}, at::kDouble) * (seed % 2 == 0 ? 5 : 0.1);
    }
    const at::Tensor number = at::scalar_tensor(loss, at::kDouble);
    cpu.step(first, number);
    device.step_on_device(second, number);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(second[i].allclose(first[i], 1e-6, 1e-6)) << "step " << seed;
      EXPECT_FALSE(second[i].grad().defined());
    }
  }
}

}  // namespace
}  // namespace fathom::models
