#include <ATen/ops/cat.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/text/token_sequences.h"
#include "models/lm/gpt2_net.h"
#include "models/step.h"
#include "models/table.h"

namespace fathom::models {
namespace {

constexpr Gpt2Sizes kSizes{.vocabulary = 64, .positions = 32, .layers = 3, .heads = 4, .width = 32};

Gpt2Net net_in_float64() {
  at::manual_seed(1);
  Gpt2Net net(kSizes);
  net->to(at::kDouble);
  return net;
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(Gpt2, SeesNoLaterToken) {
  const torch::NoGradGuard no_grad;
  Gpt2Net net = net_in_float64();
  const at::Tensor ids = at::randint(kSizes.vocabulary, {2, 12}, at::kLong);
  at::Tensor changed = ids.clone();
  changed.slice(1, 7).add_(1).remainder_(kSizes.vocabulary);
  const at::Tensor states = net->forward(ids);
  const at::Tensor others = net->forward(changed);
  EXPECT_EQ(largest_difference(states.slice(1, 0, 7), others.slice(1, 0, 7)), 0);
  EXPECT_GT(largest_difference(states.slice(1, 11), others.slice(1, 11)), 0.01);
}

/// A sequence that grows by one token at a time.
TEST(Gpt2, DecodesWithACacheWhatTheWholeSequenceGives) {
  const torch::NoGradGuard no_grad;
  Gpt2Net net = net_in_float64();
  const at::Tensor ids = at::randint(kSizes.vocabulary, {3, 20}, at::kLong);
  const at::Tensor whole = net->forward(ids);
  KeyValueCache cache;
  net->forward(ids.slice(1, 0, 12), &cache);
  ASSERT_EQ(cache.size(), 3U);
  for (int64_t last = 12; last < 20; ++last) {
    for (auto& layer : cache) {
      for (auto* kept : {&layer.keys, &layer.values}) {
        *kept = at::cat({*kept, kept->slice(2, 0, 1)}, 2);  // a place with another token
      }
    }
    const at::Tensor state = net->decode(ids.slice(1, last, last + 1), cache);
    EXPECT_LT(largest_difference(state, whole.slice(1, last, last + 1)), 1e-12) << last;
  }
}

/// Of the table of positions, 32 x 32, a step reads one row.
TEST(Gpt2Decode, ReadsItsWeightsAndItsCache) {
  const auto decoder = workload("gpt2_decode").make(Scale::kSmall);
  const torch::NoGradGuard no_grad;
  decoder->prepare_inference(
      decoder->batches({.batch = 4, .count = 1, .seed = 2, .training = false}).batches[0]);
  int64_t weights = 0;
  for (const auto& weight : decoder->module().parameters()) weights += weight.numel();
  constexpr double kPositions = 32 * 32;
  constexpr double kCache =
      2 * 2 * 4 * 17 * 32;  // keys and values, layers, sequences, tokens, width
  EXPECT_EQ(decoder->infer_bytes(), 4 * (static_cast<double>(weights) - kPositions + kCache));
}

/// The logits of every batch, twice: a step overwrites what the step before it wrote.
TEST(Gpt2Decode, GivesTheLogitsOfTheWholeSequence) {
  const auto decoder = workload("gpt2_decode").make(Scale::kSmall);
  auto* net = decoder->module().as<Gpt2Net>();
  net->to(at::kDouble);
  const auto set = decoder->batches({.batch = 4, .count = 3, .seed = 2, .training = false});
  const torch::NoGradGuard no_grad;
  decoder->prepare_inference(set.batches[0]);
  for (int round = 0; round < 2; ++round) {
    for (const auto& batch : set.batches) {
      const at::Tensor ids = at::cat({batch[fixtures::kTokens], batch.back()}, 1);
      EXPECT_EQ(ids.size(1), 17);
      const at::Tensor whole = net->logits(net->forward(ids)).select(1, -1);
      EXPECT_LT(largest_difference(decoder->infer(batch), whole), 1e-12);
    }
  }
}

TEST(Gpt2Decode, KeepsItsCacheInThePrecisionOfTheSteps) {
  for (const auto& [precision, type] : {std::pair{fixtures::Precision::kFp32, at::kFloat},
                                        std::pair{fixtures::Precision::kBf16, at::kBFloat16}}) {
    Step step(workload("gpt2_decode"),
              {.mode = Mode::kInfer, .precision = precision, .batch = 3, .scale = Scale::kSmall});
    const auto buffers = step.workload().module().named_buffers();
    EXPECT_EQ(buffers.size(), 4U);  // two layers
    for (const auto& buffer : buffers) {
      EXPECT_EQ(buffer->scalar_type(), type) << buffer.key();
      EXPECT_EQ(buffer->sizes(), (std::vector<int64_t>{3, 4, 17, 8})) << buffer.key();
    }
  }
}

TEST(Gpt2, GivesTheLogitsOfTheNextTokenOnly) {
  const auto gpt2 = workload("gpt2").make(Scale::kSmall);
  auto* net = gpt2->module().as<Gpt2Net>();
  const auto batch = gpt2->batches({.batch = 4, .seed = 2}).batches[0];
  const torch::NoGradGuard no_grad;
  const at::Tensor all = net->logits(net->forward(batch[fixtures::kTokens]));
  EXPECT_LT(largest_difference(gpt2->infer(batch), all.select(1, -1)), 1e-6);
}

TEST(Gpt2, StartsFromTheDeviationsOfItsPaper) {
  at::manual_seed(1);
  const auto gpt2 = workload("gpt2").make(Scale::kFull);
  const auto parameters = gpt2->module().named_parameters();
  const std::map<std::string, double> deviations{
      {"wte.weight", 0.02},    {"wpe.weight", 0.02},
      {"h3.qkv.weight", 0.02}, {"h3.out.weight", 0.02 / std::sqrt(24)},
      {"h3.up.weight", 0.02},  {"h3.down.weight", 0.02 / std::sqrt(24)},
  };
  for (const auto& [name, deviation] : deviations) {
    EXPECT_NEAR(parameters[name].std().item<double>(), deviation, 0.01 * deviation) << name;
    EXPECT_NEAR(parameters[name].mean().item<double>(), 0, 0.01 * deviation) << name;
  }
  for (const auto& parameter : parameters) {
    if (parameter->dim() > 1) continue;
    const double value = parameter.key().ends_with("bias") ? 0 : 1;
    EXPECT_TRUE(parameter->eq(value).all().item<bool>()) << parameter.key();
  }
}

/// Where the gradient is 0, the update is the weight decay alone.
TEST(Gpt2, DecaysMatricesOnly) {
  const auto gpt2 = workload("gpt2").make(Scale::kSmall);
  std::map<std::string, at::Tensor> before;
  for (const auto& parameter : gpt2->module().named_parameters()) {
    parameter->mutable_grad() = parameter->detach().mul(0);
    before[parameter.key()] = parameter->detach().clone();
  }
  gpt2->update();
  for (const auto& parameter : gpt2->module().named_parameters()) {
    const double kept = parameter->dim() > 1 ? 1 - 6e-4 * 0.1 : 1;
    const at::Tensor expected = before[parameter.key()] * kept;
    EXPECT_LT(largest_difference(parameter->detach(), expected), 1e-8) << parameter.key();
    if (parameter->dim() > 1) {
      EXPECT_GT(largest_difference(parameter->detach(), before[parameter.key()]), 1e-7);
    }
  }
}

TEST(Gpt2, OverfitsOneBatch) {
  at::manual_seed(1);
  const auto gpt2 = workload("gpt2").make(Scale::kSmall);
  const auto batch = gpt2->batches({.batch = 4, .seed = 1}).batches[0];
  double last = 0;
  for (int step = 0; step < 400; ++step) {
    const at::Tensor loss = gpt2->loss(batch);
    last = loss.item<double>();
    if (step == 0) {
      EXPECT_NEAR(last, std::log(64), 0.1);
    }
    loss.backward();
    gpt2->update();
  }
  EXPECT_LT(last, 0.1);
}

}  // namespace
}  // namespace fathom::models
