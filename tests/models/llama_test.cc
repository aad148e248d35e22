#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/text/token_sequences.h"
#include "models/modern/llama_net.h"
#include "models/modern/parallel_fill.h"
#include "models/table.h"

namespace fathom::models {
namespace {

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(RotaryTable, HasTheAnglesOfTheirPositions) {
  const ops::RotaryTable table = rotary_table(8, {.count = 5, .base = 10'000});
  ASSERT_EQ(table.cos.sizes(), (std::vector<int64_t>{5, 8}));
  for (int64_t position = 0; position < 5; ++position) {
    for (int64_t i = 0; i < 8; ++i) {
      const double angle =
          static_cast<double>(position) * std::pow(10'000, -static_cast<double>(i % 4) / 4);
      EXPECT_NEAR(table.cos[position][i].item<double>(), std::cos(angle), 1e-6);
      EXPECT_NEAR(table.sin[position][i].item<double>(), std::sin(angle), 1e-6);
    }
  }
}

/// Wavelengths of 2π, 200π, 20,000π and 2,000,000π positions: short ones stay, long ones are
/// stretched, and one between is a mix.
TEST(RotaryTable, StretchesLongWavelengths) {
  const RotaryScaling scaling{
      .factor = 32, .low = 1, .high = 4, .positions = 400 * std::numbers::pi};
  const at::Tensor sin = rotary_table(8, {.count = 2, .base = 1e8, .scaling = scaling}).sin[1];
  const std::array<double, 4> factors{1, (1.0 / 3) + (2.0 / 3) / 32, 1.0 / 32, 1.0 / 32};
  for (int64_t i = 0; i < 4; ++i) {
    const double expected = std::sin(std::pow(1e8, -static_cast<double>(i) / 4) *
                                     factors.at(static_cast<std::size_t>(i)));
    EXPECT_NEAR(sin[i].item<double>(), expected, 1e-6 * expected) << i;
  }
}

TEST(FillNormal, GivesTheSameNumbersOnAnyNumberOfThreads) {
  const auto drawn = [](int threads) {
    fixtures::set_threads(threads);
    at::manual_seed(3);
    return drawn_normal({1'000, 700}, 0.5);
  };
  const at::Tensor one = drawn(1);
  EXPECT_TRUE(one.equal(drawn(2)));
  EXPECT_NEAR(one.std().item<double>(), 0.5, 0.002);
  EXPECT_NEAR(one.mean().item<double>(), 0, 0.002);
  EXPECT_FALSE(one[0].equal(one[500])) << "each part has numbers of its own";
}

TEST(Llama, StartsFromTheDeviationOfItsConfiguration) {
  const auto llama = workload("llama").make(Scale::kFull);
  for (const auto& parameter : llama->module().named_parameters()) {
    if (parameter->dim() > 1) {
      EXPECT_NEAR(parameter->std().item<double>(), 1.0 / 24, 0.01 / 24) << parameter.key();
    } else {
      EXPECT_TRUE(parameter->eq(1).all().item<bool>()) << parameter.key();
    }
  }
}

/// Where the gradient is 0, the update is the weight decay alone.
TEST(Llama, DecaysAllWeights) {
  const auto llama = workload("llama").make(Scale::kSmall);
  std::map<std::string, at::Tensor> before;
  for (const auto& parameter : llama->module().named_parameters()) {
    parameter->mutable_grad() = parameter->detach().mul(0);
    before[parameter.key()] = parameter->detach().clone();
  }
  llama->update();
  for (const auto& parameter : llama->module().named_parameters()) {
    const at::Tensor expected = before[parameter.key()] * (1 - 3e-3 * 0.01);
    EXPECT_LT(largest_difference(parameter->detach(), expected), 1e-7) << parameter.key();
  }
}

/// Positions matter only relative to each other, so that a sequence may start anywhere.
TEST(RaggedDecoder, GivesEachSequencesOwnLogits) {
  const auto decoder = workload("llama_ragged_decode").make(Scale::kSmall);
  auto* net = decoder->module().as<LlamaNet>();
  const auto batch = decoder->batches({.batch = 5, .seed = 2, .training = false}).batches[0];
  const at::Tensor& tokens = batch[fixtures::kTokens];
  ASSERT_EQ(tokens.sizes(), (std::vector<int64_t>{5, 16}));
  const torch::NoGradGuard no_grad;
  decoder->prepare_inference(batch);
  const at::Tensor found = decoder->infer(batch);
  const std::array<int64_t, 5> lengths{1, 2, 4, 16, 1};
  for (int64_t n = 0; n < 5; ++n) {
    const at::Tensor own = tokens[n].slice(0, 16 - lengths.at(static_cast<std::size_t>(n)));
    const at::Tensor ids = at::cat({own, batch.back()[n]}).unsqueeze(0);
    const at::Tensor expected = net->logits(net->forward(ids)).select(1, -1)[0];
    EXPECT_LT(largest_difference(found[n], expected), 1e-5) << n;
  }
  const auto bytes = decoder->infer_bytes();
  const double layers_heads_width = 2 * 2 * 2 * 8 * 4;  // keys and values; layers, heads, floats
  EXPECT_NEAR(bytes->cache, layers_heads_width * (2 + 3 + 5 + 17 + 2), 1);
}

}  // namespace
}  // namespace fathom::models
