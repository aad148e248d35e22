#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <map>
#include <string>

#include "models/table.h"

namespace fathom::models {
namespace {

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
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
  const BytesRead found = decoder->infer_bytes().value();
  EXPECT_EQ(found.weights, 4 * (static_cast<double>(weights) - kPositions));
  EXPECT_EQ(found.cache, 4 * kCache);
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

}  // namespace
}  // namespace fathom::models
