#include "ops/kernels/add_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fixtures/machine/device.h"
#include "tests/ops/gradients.h"

namespace fathom::ops {
namespace {

constexpr int64_t kRows = 3;
constexpr int64_t kWidth = 37;
constexpr double kEpsilon = 0.1;

struct Given : tests::Inputs {
  Given()
      : x(given("x", {kRows, kWidth})),
        update(given("update", {kRows, kWidth})),
        weight(given("weight", {kWidth})),
        bias(given("bias", {kWidth})) {}

  at::Tensor x;
  at::Tensor update;
  at::Tensor weight;
  at::Tensor bias;
};

/// Weights [rows, W] of the two results in a loss.
struct LossWeights {
  at::Tensor sum;
  at::Tensor normalised;
};

double at_place(const at::Tensor& tensor, int64_t i) { return tensor.const_data_ptr<double>()[i]; }

/// Σ results · weights in plain loops.
double reference(const Given& given, const LossWeights& weights) {
  double loss = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    const auto sum = [&](int64_t j) {
      return at_place(given.x, row * kWidth + j) + at_place(given.update, row * kWidth + j);
    };
    double mean = 0;
    double variance = 0;
    for (int64_t j = 0; j < kWidth; ++j) mean += sum(j) / kWidth;
    for (int64_t j = 0; j < kWidth; ++j) variance += std::pow(sum(j) - mean, 2) / kWidth;
    for (int64_t j = 0; j < kWidth; ++j) {
      const double normalised = (sum(j) - mean) / std::sqrt(variance + kEpsilon);
      loss += at_place(weights.sum, row * kWidth + j) * sum(j);
      loss += at_place(weights.normalised, row * kWidth + j) *
              (normalised * at_place(given.weight, j) + at_place(given.bias, j));
    }
  }
  return loss;
}

using AddLayerNormCall = SumAndNorm (*)(const at::Tensor& x, const at::Tensor& update,
                                        const at::Tensor& weight, const at::Tensor& bias,
                                        double epsilon);

TEST(AddLayerNorm, AgreesWithPlainLoopsInFloat64) {
  fixtures::set_threads(1);
  for (const AddLayerNormCall call : {add_layer_norm, fused_add_layer_norm}) {
    at::manual_seed(3);
    Given given;
    const LossWeights weights{at::randn({kRows, kWidth}, at::kDouble),
                              at::randn({kRows, kWidth}, at::kDouble)};
    tests::expect_gradients(
        given.tensors,
        [&] {
          const auto [sum, normalised] =
              call(given.x, given.update, given.weight, given.bias, kEpsilon);
          return (sum * weights.sum + normalised * weights.normalised).sum();
        },
        [&] { return reference(given, weights); }, 1000);
  }
}

/// Only one of the results may reach the loss.
TEST(FusedAddLayerNorm, HasTheGradientOfEitherResult) {
  at::manual_seed(3);
  for (const bool of_sum : {true, false}) {
    Given given;
    const auto gradient = [&](AddLayerNormCall call) {
      given.x.mutable_grad().reset();
      const auto [sum, normalised] =
          call(given.x, given.update, given.weight, given.bias, kEpsilon);
      (of_sum ? sum : normalised).square().sum().backward();
      return given.x.grad();
    };
    EXPECT_TRUE(gradient(fused_add_layer_norm).allclose(gradient(add_layer_norm)));
  }
}

/// Wider than a vector, with a remainder, on several threads.
TEST(FusedAddLayerNorm, IsTheCompositeInFloat) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({2, 64, 517});
  const at::Tensor update = at::randn({2, 64, 517});
  const at::Tensor weight = at::randn({517});
  const at::Tensor bias = at::randn({517});
  const at::Tensor g = at::randn({2, 64, 517});
  const auto results = [&](AddLayerNormCall call, at::ScalarType type) {
    std::vector<at::Tensor> in;
    for (const at::Tensor& one : {x, update, weight, bias}) {
      in.push_back(one.to(type).detach().clone().requires_grad_());
    }
    const auto [sum, normalised] = call(in[0], in[1], in[2], in[3], kEpsilon);
    (sum * normalised * g.to(type)).sum().backward();
    std::vector<at::Tensor> all{sum, normalised};
    for (const at::Tensor& one : in) all.push_back(one.grad());
    return all;
  };
  const auto expected = results(add_layer_norm, at::kDouble);
  for (const int threads : {1, 2}) {
    fixtures::set_threads(threads);
    const auto found = results(fused_add_layer_norm, at::kFloat);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double largest = expected[i].abs().max().item<double>();
      EXPECT_LT((found[i] - expected[i]).abs().max().item<double>(), 2e-5 * largest) << i;
    }
  }
}

TEST(FusedAddLayerNorm, ComputesMixedTypesInTheWiderOne) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({5, 37});
  const at::Tensor update = at::randn({5, 37}).to(at::kBFloat16);
  const at::Tensor weight = at::randn({37});
  const auto [sum, normalised] = fused_add_layer_norm(x, update, weight, weight, kEpsilon);
  const auto expected = add_layer_norm(x, update, weight, weight, kEpsilon);
  EXPECT_EQ(sum.scalar_type(), at::kFloat);
  EXPECT_TRUE(sum.equal(expected.sum));
  EXPECT_TRUE(normalised.allclose(expected.normalised, 1e-5, 1e-6));
}

}  // namespace
}  // namespace fathom::ops
