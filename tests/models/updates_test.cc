// The published constants of every update: rates, momenta, weight decays, betas, epsilons, clips
// and noise. A workload's update must do what torch::optim does with the values written here.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand_like.h>
#include <ATen/ops/randn_like.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/machine/device.h"
#include "models/table.h"

namespace fathom::models {
namespace {

using torch::optim::AdagradOptions;
using torch::optim::AdamOptions;
using torch::optim::AdamWOptions;
using torch::optim::SGDOptions;
using Parameters = std::vector<at::Tensor>;
using Update = std::function<void()>;
/// Makes the update of a network.
using Rule = std::function<Update(torch::nn::Module& net)>;

Parameters trained(const torch::nn::Module& net) {
  Parameters parameters;
  std::ranges::copy_if(net.parameters(), std::back_inserter(parameters),
                       [](const at::Tensor& one) { return one.requires_grad(); });
  return parameters;
}

void clip(const Parameters& parameters, double max_norm) {
  if (max_norm > 0) torch::nn::utils::clip_grad_norm_(parameters, max_norm);
}

template <class Method, class Options>
Rule by(const Options& options, double max_norm = 0) {
  return [=](torch::nn::Module& net) -> Update {
    const auto optimizer = std::make_shared<Method>(trained(net), options);
    return [=, parameters = trained(net)] {
      clip(parameters, max_norm);
      optimizer->step();
    };
  };
}

Rule by_momentum(double rate, double decay) {
  return by<torch::optim::SGD>(SGDOptions(rate).momentum(0.9).weight_decay(decay));
}

Rule by_adam(double rate, double max_norm = 0) {
  return by<torch::optim::Adam>(AdamOptions(rate).betas({0.9, 0.999}).eps(1e-8), max_norm);
}

/// TensorFlow's: the mean squares start at 1, and epsilon is inside the root.
Rule by_rms_prop(double rate, double decay, double epsilon, double max_norm = 0) {
  return [=](torch::nn::Module& net) -> Update {
    const auto squares = std::make_shared<Parameters>();
    for (const auto& one : trained(net)) squares->push_back(at::ones_like(one));
    return [=, parameters = trained(net)] {
      clip(parameters, max_norm);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const at::Tensor& gradient = parameters[i].grad();
        (*squares)[i] = decay * (*squares)[i] + (1 - decay) * gradient.square();
        parameters[i].sub_(rate * gradient / ((*squares)[i] + epsilon).sqrt());
      }
    };
  };
}

/// Clips each gradient alone and adds noise; the rows of the padding word stay.
Update memnet_update(torch::nn::Module& net) {
  const Update update = by_adam(0.01)(net);
  return [=, parameters = trained(net)] {
    for (const auto& one : parameters) {
      const at::Tensor& gradient = one.grad();
      gradient.mul_(std::min(1.0, 40 / gradient.norm().item<double>()));
      gradient.add_(at::randn_like(gradient), 0.001);
    }
    for (const std::size_t table : {0U, 1U}) parameters[table].grad()[0].zero_();
    update();
  };
}

/// The rate of tensor2tensor: it rises for 16,000 steps.
Update transformer_update(torch::nn::Module& net) {
  const auto options = AdamOptions(1).betas({0.9, 0.98}).eps(1e-9);
  const auto optimizer = std::make_shared<torch::optim::Adam>(trained(net), options);
  return [=, step = 0]() mutable {
    const double rate = 2 / std::sqrt(512) * ++step * std::pow(16'000, -1.5);
    optimizer->param_groups()[0].options().set_lr(rate);
    optimizer->step();
  };
}

/// The generator's, then five of the critic's.
Update wgan_update(torch::nn::Module& net) {
  const auto options = AdamOptions(1e-4).betas({0, 0.9}).eps(1e-8);
  const auto children = net.named_children();
  return [generator = by<torch::optim::Adam>(options)(*children["generator"]),
          critic = by<torch::optim::Adam>(options)(*children["critic"]),
          round = 0]() mutable { (round++ % 6 == 0 ? generator : critic)(); };
}

/// AdamW with weight decay of matrices only, without those whose name ends with `not_decayed`.
Rule by_adamw_of_matrices(double rate, std::string_view not_decayed = "none") {
  return [=](torch::nn::Module& net) -> Update {
    Parameters matrices;
    Parameters vectors;
    for (const auto& one : net.named_parameters()) {
      const bool decays = one->dim() > 1 && !one.key().ends_with(not_decayed);
      (decays ? matrices : vectors).push_back(*one);
    }
    const auto adamw = [&](Parameters parameters, double decay) {
      const auto options = AdamWOptions(rate).betas({0.9, 0.95}).eps(1e-8).weight_decay(decay);
      return std::make_shared<torch::optim::AdamW>(std::move(parameters), options);
    };
    return [all = trained(net), first = adamw(matrices, 0.1), second = adamw(vectors, 0)] {
      clip(all, 1);
      first->step();
      second->step();
    };
  };
}

/// AdamW with weight decay of all parameters.
Rule by_adamw(double rate, double decay) {
  return by<torch::optim::AdamW>(
      AdamWOptions(rate).betas({0.9, 0.95}).eps(1e-8).weight_decay(decay), 1);
}

/// Variants without a line have that of their network.
const std::map<std::string, Rule> kRules{
    {"seq2seq", by<torch::optim::SGD>(SGDOptions(0.5), 5)},
    {"memnet", memnet_update},
    {"speech", by<torch::optim::SGD>(SGDOptions(0.01), 5)},
    {"autoenc", by_adam(1e-3)},
    {"autoenc_kingma",
     by<torch::optim::Adagrad>(AdagradOptions(0.01).weight_decay(1.0 / 60'000).eps(1e-10))},
    {"residual", by_momentum(0.1, 1e-4)},
    {"residual_repo", by_adam(0.01)},
    {"vgg", by_momentum(0.01 * 8 / 256, 5e-4)},
    {"vgg_repo", by_adam(1e-4)},
    {"alexnet", by_momentum(0.01, 5e-4)},
    {"alexnet_repo", by_adam(1e-3)},
    {"deepq", by_rms_prop(2.5e-4, 0.95, 0.01)},
    {"resnet50", by_momentum(0.1 * 32 / 256, 1e-4)},
    {"inception_v3", by_momentum(0.1 * 32 / 256, 1e-4)},
    {"nmt", by_adam(3e-4, 1)},
    {"transformer", transformer_update},
    {"wgan", wgan_update},
    {"faster_rcnn", by_momentum(0.001, 5e-4)},
    {"a3c", by_rms_prop(7e-4, 0.99, 0.1, 40)},
    {"deepspeech2", by<torch::optim::SGD>(SGDOptions(3e-4).momentum(0.9).nesterov(true), 400)},
    {"gpt2", by_adamw_of_matrices(6e-4)},
    {"llama", by_adamw(3e-3, 0.01)},
    {"moe_6", by_adamw(4e-4, 0.1)},
    {"mamba", by_adamw_of_matrices(3e-3, "log_rates")},
};

const Rule& rule_of(const WorkloadRow& row) {
  const auto found = kRules.find(std::string(row.name));
  return found != kRules.end() ? found->second : kRules.at(std::string(row.variant_of));
}

/// The parameters that the test gives gradients. A network with float weights, the full
/// Transformer, moves only its biases, which start at 0; torch::optim skips the others.
Parameters moved_parameters(const torch::nn::Module& net) {
  Parameters parameters;
  for (const auto& one : net.named_parameters()) {
    const bool moves = one->scalar_type() == at::kDouble || one.key().ends_with("bias");
    if (moves && one->requires_grad()) parameters.push_back(*one);
  }
  return parameters;
}

/// Sets gradients with elements of all sizes, so that epsilons count, and of a norm above or below
/// every clip.
void set_gradients(const Parameters& parameters, uint64_t seed, double norm) {
  at::manual_seed(seed);
  for (const auto& one : parameters) {
    const at::Tensor gradient = at::randn_like(one) * (at::rand_like(one) * -20).exp();
    one.mutable_grad() = gradient * (norm / gradient.norm());
  }
}

Parameters copies(const Parameters& parameters) {
  Parameters made;
  for (const auto& one : parameters) made.push_back(one.detach().clone());
  return made;
}

class EveryUpdate : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Table, EveryUpdate, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& row : workloads()) {
                             if (row.trains) names.emplace_back(row.name);
                           }
                           return names;
                         }()),
                         [](const auto& one) { return one.param; });

TEST_P(EveryUpdate, HasThePublishedConstants) {
  fixtures::set_threads(1);
  const WorkloadRow& row = workload(GetParam());
  // The small Transformer warms up in fewer steps.
  const bool full = row.name == "transformer";
  const auto make = [&] {
    at::manual_seed(1);
    auto net = row.make(full ? Scale::kFull : Scale::kSmall);
    if (!full) net->module().to(at::kDouble);
    return net;
  };
  const auto net = make();
  const auto other = make();
  const torch::NoGradGuard no_grad;
  const Update expected = rule_of(row)(other->module());
  const Parameters ours = moved_parameters(net->module());
  const Parameters theirs = moved_parameters(other->module());
  ASSERT_EQ(ours.size(), theirs.size());
  if (auto* loss = net->loss_in_update()) *loss = at::full({}, 1, at::kDouble);
  for (int update = 0; update < 3 * net->updates_per_step(); ++update) {
    const auto seed = static_cast<uint64_t>(update);
    const double norm = update % 2 == 0 ? 1e3 : 1e-3;
    const Parameters before = copies(ours);
    const Parameters also_before = copies(theirs);
    for (const auto* parameters : {&ours, &theirs}) set_gradients(*parameters, seed, norm);
    at::manual_seed(seed);
    net->update();
    at::manual_seed(seed);
    expected();
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const at::Tensor moved = theirs[i] - also_before[i];
      EXPECT_TRUE((ours[i] - before[i]).allclose(moved, full ? 1e-5 : 1e-6, 1e-14))
          << "update " << update << " of parameter " << i;
    }
  }
}

}  // namespace
}  // namespace fathom::models
