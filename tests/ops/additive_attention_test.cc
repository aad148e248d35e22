#include "ops/kernels/additive_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
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

/// Places before the padding of each memory.
using Words = std::array<int64_t, kSamples>;
constexpr Words kAll{kPlaces, kPlaces, kPlaces};
constexpr Words kSome{4, kPlaces, 1};

/// Σ context · weights in plain loops.
double reference(const Given& given, const at::Tensor& weights, const Words& words) {
  double sum = 0;
  for (int64_t n = 0; n < kSamples; ++n) {
    const auto* memory = given.memory[n].const_data_ptr<double>();
    const auto* keys = given.keys[n].const_data_ptr<double>();
    const auto* query = given.query[n].const_data_ptr<double>();
    std::vector<double> shares;
    double total = 0;
    for (int64_t t = 0; t < words[static_cast<std::size_t>(n)]; ++t) {
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

using Attention = at::Tensor (*)(const at::Tensor& memory, const at::Tensor& keys,
                                 const at::Tensor& query, const at::Tensor& score,
                                 const std::optional<at::Tensor>& mask);

void expect_plain_loops(const Words& words, const std::optional<at::Tensor>& mask) {
  fixtures::set_threads(1);
  for (const Attention attention : {additive_attention, fused_additive_attention}) {
    at::manual_seed(3);
    Given given;
    const at::Tensor weights = at::randn({kSamples, kWidth}, at::kDouble);
    tests::expect_gradients(
        given.tensors,
        [&] {
          const at::Tensor context =
              attention(given.memory, given.keys, given.query, given.score, mask);
          return (context * weights).sum();
        },
        [&] { return reference(given, weights, words); }, 1000);
  }
}

TEST(AdditiveAttention, AgreesWithPlainLoopsInFloat64) { expect_plain_loops(kAll, std::nullopt); }

TEST(AdditiveAttention, LooksAtNoMaskedPlace) {
  const at::Tensor mask = at::zeros({kSamples, kPlaces}, at::kDouble);
  for (int64_t n = 0; n < kSamples; ++n) {
    mask[n]
        .slice(0, kSome[static_cast<std::size_t>(n)])
        .fill_(-std::numeric_limits<double>::infinity());
  }
  expect_plain_loops(kSome, mask);
}

/// Wider than a vector, with a remainder, on several threads.
TEST(FusedAdditiveAttention, IsTheCompositeInFloat) {
  at::manual_seed(3);
  const at::Tensor memory = at::randn({64, 9, 77});
  const at::Tensor keys = at::randn({64, 9, 133});
  const at::Tensor query = at::randn({64, 133});
  const at::Tensor score = at::randn({1, 133});
  for (const int threads : {1, 2}) {
    fixtures::set_threads(threads);
    const at::Tensor found = fused_additive_attention(memory, keys, query, score);
    const at::Tensor expected = additive_attention(memory.to(at::kDouble), keys.to(at::kDouble),
                                                   query.to(at::kDouble), score.to(at::kDouble));
    EXPECT_LT((found - expected).abs().max().item<double>(), 2e-5);
  }
}

}  // namespace
}  // namespace fathom::ops
