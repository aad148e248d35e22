#include "ops/kernels/fused_update.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "fixtures/machine/device.h"
#include "tests/ops/tensor_lists.h"

namespace fathom::ops {
namespace {

constexpr int kSteps = 3;
constexpr Momentum kMomentum{.rate = 0.01, .momentum = 0.9, .weight_decay = 5e-4};
constexpr Nesterov kNesterov{.rate = 0.01, .momentum = 0.9, .weight_decay = 5e-4};
constexpr Adam kAdam{.rate = 1e-3};
constexpr AdamW kAdamW{.rate = 1e-3, .weight_decay = 0.1, .beta2 = 0.95};
constexpr Adagrad kAdagrad{.rate = 0.01, .weight_decay = 0.1};
constexpr RmsProp kRmsProp{.rate = 2.5e-4, .alpha = 0.95, .epsilon = 0.01};

/// One optimizer step with these gradients.
using Steps = std::function<void(const List& gradients)>;

template <typename Optimizer, typename Options>
Steps theirs(const List& parameters, const Options& options) {
  return [parameters, made = std::make_shared<Optimizer>(parameters, options)](const List& all) {
    for (std::size_t i = 0; i < all.size(); ++i) parameters[i].mutable_grad() = all[i];
    made->step();
  };
}

/// LibTorch's optimizers, except for RMSProp: LibTorch has no form with epsilon inside the root.
Steps reference(const Sgd& rule, const List& parameters) {
  return theirs<torch::optim::SGD>(parameters, torch::optim::SGDOptions(rule.rate));
}
Steps reference(const Momentum& rule, const List& parameters) {
  return theirs<torch::optim::SGD>(
      parameters,
      torch::optim::SGDOptions(rule.rate).momentum(rule.momentum).weight_decay(rule.weight_decay));
}
Steps reference(const Nesterov& rule, const List& parameters) {
  return theirs<torch::optim::SGD>(parameters, torch::optim::SGDOptions(rule.rate)
                                                   .momentum(rule.momentum)
                                                   .weight_decay(rule.weight_decay)
                                                   .nesterov(true));
}
Steps reference(const Adam& rule, const List& parameters) {
  return theirs<torch::optim::Adam>(parameters, torch::optim::AdamOptions(rule.rate));
}
Steps reference(const AdamW& rule, const List& parameters) {
  return theirs<torch::optim::AdamW>(parameters, torch::optim::AdamWOptions(rule.rate)
                                                     .betas({rule.beta1, rule.beta2})
                                                     .weight_decay(rule.weight_decay));
}
Steps reference(const Adagrad& rule, const List& parameters) {
  return theirs<torch::optim::Adagrad>(
      parameters, torch::optim::AdagradOptions(rule.rate).weight_decay(rule.weight_decay));
}
Steps reference(const RmsProp& rule, const List& parameters) {
  List squares;
  for (const auto& p : parameters) squares.push_back(at::zeros_like(p));
  return [=](const List& gradients) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      auto* p = parameters[i].mutable_data_ptr<double>();
      auto* square = squares[i].mutable_data_ptr<double>();
      const auto* g = gradients[i].const_data_ptr<double>();
      for (int64_t j = 0; j < parameters[i].numel(); ++j) {
        square[j] = rule.alpha * square[j] + (1 - rule.alpha) * g[j] * g[j];
        p[j] -= rule.rate * g[j] / std::sqrt(square[j] + rule.epsilon);
      }
    }
  };
}

List draw(const List& like) {
  List drawn;
  for (const auto& tensor : like) drawn.push_back(at::randn(tensor.sizes(), tensor.options()));
  return drawn;
}

/// kSteps steps of our kernels, each with the gradients that `next` returns.
void ours(UpdateRule rule, const List& parameters, const std::function<List()>& next) {
  std::vector<List> lists{parameters, {}};
  const auto states = std::visit([](const auto& one) { return one.kStates; }, rule);
  for (int state = 0; state < states; ++state) {
    lists.emplace_back();
    for (const auto& p : parameters) lists.back().push_back(at::zeros_like(p));
  }
  for (int step = 1; step <= kSteps; ++step) {
    std::visit(
        [&](auto& one) {
          if constexpr (requires { one.step; }) one.step = step;
        },
        rule);
    lists[1] = next();
    fused_update(rule, lists);
  }
}

struct Case {
  const char* name;
  UpdateRule rule;
};

class FusedUpdate : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    fixtures::set_threads(1);
    at::manual_seed(1);
  }
};

INSTANTIATE_TEST_SUITE_P(Rules, FusedUpdate,
                         testing::Values(Case{"sgd", Sgd{.rate = 0.01}},
                                         Case{"momentum", kMomentum}, Case{"nesterov", kNesterov},
                                         Case{"adam", kAdam}, Case{"adamw", kAdamW},
                                         Case{"adagrad", kAdagrad}, Case{"rmsprop", kRmsProp}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(WarmingAdam, HasTheRateOfItsStep) {
  for (const auto& [step, share] :
       {std::pair{1, 0.125}, std::pair{4, 0.5}, std::pair{5, 1 / std::sqrt(5)}}) {
    const List constant{at::full({3}, 2.0), at::ones({3}), at::zeros({3}), at::zeros({3})};
    const List warming{at::full({3}, 2.0), at::ones({3}), at::zeros({3}), at::zeros({3})};
    const auto lists = [](const List& all) {
      return std::vector<List>{{all[0]}, {all[1]}, {all[2]}, {all[3]}};
    };
    fused_update(Adam{.rate = 0.3 * share, .step = step}, lists(constant));
    fused_update(Adam{.rate = 0.3, .step = step, .warm_up = 4}, lists(warming));
    EXPECT_TRUE(warming[0].allclose(constant[0], 1e-6)) << step;
    EXPECT_FALSE(warming[0].eq(2.0).any().item<bool>()) << step;
  }
}

TEST_P(FusedUpdate, AgreesWithFloat64) {
  const struct {
    at::ScalarType type;
    double tolerance;
  } types[] = {{at::kDouble, 1e-14}, {at::kFloat, 1e-6}, {at::kBFloat16, 4e-2}};
  for (const auto& [type, tolerance] : types) {
    for (const int threads : {1, 2}) {
      fixtures::set_threads(threads);
      const List start = converted({at::randn({1}), at::randn({7, 3}), at::randn({100'003})}, type);
      const List exact = converted(start, at::kDouble);
      const Steps step =
          std::visit([&](const auto& rule) { return reference(rule, exact); }, GetParam().rule);
      ours(GetParam().rule, start, [&] {
        List gradients = draw(start);
        step(converted(gradients, at::kDouble));
        return gradients;
      });
      for (std::size_t i = 0; i < start.size(); ++i) {
        const at::Tensor error = (start[i].to(at::kDouble) - exact[i]).abs();
        EXPECT_LE(error.max().item<double>(), tolerance) << toString(type) << " tensor " << i;
      }
    }
  }
}

TEST_P(FusedUpdate, OnCudaAgreesWithTheCpu) {
  if (const auto& why = fixtures::unavailable_reason(fixtures::Device::kCuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const at::Device cuda = fixtures::torch_device(fixtures::Device::kCuda);
  const List here = tensors_of_all_sizes();
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const List mine = converted(here, type);
    const List there = converted(here, type, cuda);
    List gradients = draw(mine);
    ours(GetParam().rule, mine, [&] { return gradients; });
    ours(GetParam().rule, there, [&] { return converted(gradients, type, cuda); });
    expect_alike(there, mine, 1);
  }
}

TEST(RmsProp, RootsAfterAddingEpsilon) {
  // g = 1e-3, mean square 1. With epsilon outside the root the step would be 2.6e-7.
  const at::Tensor p = at::zeros({1}, at::kDouble);
  fused_update(kRmsProp, {{p}, {at::full({1}, 1e-3, at::kDouble)}, {at::ones({1}, at::kDouble)}});
  EXPECT_NEAR(p.item<double>(), -2.5e-7 / std::sqrt(0.95 + 0.05e-6 + 0.01), 1e-15);
}

TEST(FusedUpdateOf, RefusesTensorsThatDoNotMatch) {
  const at::Tensor p = at::zeros({4});
  const auto refuses = [&](const at::Tensor& g) {
    EXPECT_THROW(fused_update(Sgd{.rate = 1}, {{p}, {g}}), c10::Error);
  };
  refuses(at::zeros({5}));
  refuses(at::zeros({8}).slice(0, 0, 8, 2));
  refuses(at::zeros({4}, at::kDouble));
  EXPECT_THROW(fused_update(Sgd{.rate = 1}, {{p}, {p, p}}), c10::Error);
  EXPECT_THROW(fused_update(kRmsProp, {{p}, {p}}), c10::Error) << "its mean squares are missing";
  const at::Tensor integers = at::zeros({4}, at::kLong);
  EXPECT_THROW(fused_update(Sgd{.rate = 1}, {{integers}, {integers}}), c10::Error);
}

}  // namespace
}  // namespace fathom::ops
