#include "ops/kernels/additive_attention.h"

#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "fixtures/machine/device.h"
#include "tests/ops/gradients.h"

namespace fathom::ops {
namespace {

constexpr int64_t kSamples = 3;
constexpr int64_t kPlaces = 7;
constexpr int64_t kWidth = 4;
constexpr int64_t kKeyWidth = 5;

/// Inputs of the attention.
struct Given : tests::Inputs {
  Given()
      : memory(given("memory", {kSamples, kPlaces, kWidth})),
        keys(given("keys", {kSamples, kPlaces, kKeyWidth})),
        query(given("query", {kSamples, kKeyWidth})),
        score(given("score", {1, kKeyWidth})) {}

  at::Tensor memory;
  at::Tensor keys;
  at::Tensor query;
  at::Tensor score;
};

/// Σ context · weights in plain loops.
double reference(const Given& given, const at::Tensor& weights) {
  double sum = 0;
  for (int64_t n = 0; n < kSamples; ++n) {
    const auto* memory = given.memory[n].const_data_ptr<double>();
    const auto* keys = given.keys[n].const_data_ptr<double>();
    const auto* query = given.query[n].const_data_ptr<double>();
    std::vector<double> shares;
    double total = 0;
    for (int64_t t = 0; t < kPlaces; ++t) {
      double score = 0;
      for (int64_t a = 0; a < kKeyWidth; ++a) {
        score += given.score.const_data_ptr<double>()[a] * std::tanh(*keys++ + query[a]);
      }
      shares.push_back(std::exp(score));
      total += shares.back();
    }
    for (const double share : shares) {
      for (int64_t h = 0; h < kWidth; ++h) {
        sum += share / total * *memory++ * weights[n].const_data_ptr<double>()[h];
      }
    }
  }
  return sum;
}

TEST(AdditiveAttention, AgreesWithPlainLoopsInFloat64) {
  fixtures::set_threads(1);
  at::manual_seed(3);
  Given given;
  const at::Tensor weights = at::randn({kSamples, kWidth}, at::kDouble);
  tests::expect_gradients(
      given.tensors,
      [&] {
        return (additive_attention(given.memory, given.keys, given.query, given.score) * weights)
            .sum();
      },
      [&] { return reference(given, weights); }, 1000);
}

}  // namespace
}  // namespace fathom::ops
