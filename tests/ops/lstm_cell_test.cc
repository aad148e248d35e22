#include "ops/kernels/recurrent/lstm_cell.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "fixtures/machine/device.h"
#include "ops/kernels/recurrent/lstm_gates.h"
#include "tests/ops/gradients.h"

namespace fathom::ops {
namespace {

constexpr int64_t kSamples = 3;
constexpr int64_t kInputs = 5;
constexpr int64_t kWidth = 2;

/// Inputs of the cell.
struct Given : tests::Inputs {
  Given()
      : x(given("x", {kSamples, kInputs})),
        h(given("h", {kSamples, kWidth})),
        c(given("c", {kSamples, kWidth})),
        weight(given("weight", {4 * kWidth, kInputs + kWidth})),
        bias(given("bias", {4 * kWidth})) {}

  at::Tensor x;
  at::Tensor h;
  at::Tensor c;
  at::Tensor weight;
  at::Tensor bias;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Σ h' · weights[0] + Σ c' · weights[1] in plain loops.
double reference(const Given& given, const at::Tensor& weights) {
  const auto at = [](const at::Tensor& tensor, int64_t row, int64_t column) {
    return tensor.const_data_ptr<double>()[row * tensor.size(1) + column];
  };
  double sum = 0;
  for (int64_t n = 0; n < kSamples; ++n) {
    for (int64_t k = 0; k < kWidth; ++k) {
      std::array<double, 4> gates{};
      for (int64_t gate = 0; gate < 4; ++gate) {
        const int64_t row = gate * kWidth + k;
        double inside = given.bias.const_data_ptr<double>()[row];
        for (int64_t i = 0; i < kInputs; ++i)
          inside += at(given.weight, row, i) * at(given.x, n, i);
        for (int64_t j = 0; j < kWidth; ++j) {
          inside += at(given.weight, row, kInputs + j) * at(given.h, n, j);
        }
        gates[static_cast<std::size_t>(gate)] = inside;
      }
      const auto [i, f, g, o] = gates;
      const double c = sigmoid(f) * at(given.c, n, k) + sigmoid(i) * std::tanh(g);
      sum += sigmoid(o) * std::tanh(c) * at(weights[0], n, k) + c * at(weights[1], n, k);
    }
  }
  return sum;
}

using Cell = LstmState (*)(const Given& given);

void expect_plain_loops(Cell cell) {
  fixtures::set_threads(1);
  at::manual_seed(3);
  Given given;
  const at::Tensor weights = at::randn({2, kSamples, kWidth}, at::kDouble);
  tests::expect_gradients(
      given.tensors,
      [&] {
        const auto [h, c] = cell(given);
        return (h * weights[0]).sum() + (c * weights[1]).sum();
      },
      [&] { return reference(given, weights); }, 1000);
}

TEST(LstmCell, AgreesWithPlainLoopsInFloat64) {
  expect_plain_loops([](const Given& given) {
    return lstm_cell(given.x, {.h = given.h, .c = given.c}, given.weight, given.bias);
  });
}

TEST(LstmGates, AgreeWithPlainLoopsInFloat64) {
  expect_plain_loops([](const Given& given) {
    return lstm_gates(at::linear(at::cat({given.x, given.h}, 1), given.weight, given.bias),
                      given.c);
  });
}

TEST(LstmGates, OfFloatAreExactFarFromZeroToo) {
  constexpr int64_t kMany = 64;
  constexpr int64_t kOdd = 257;
  for (const int threads : {1, 2}) {
    fixtures::set_threads(threads);
    const at::Tensor c = at::linspace(-3, 3, kMany * kOdd).view({kMany, kOdd});
    const at::Tensor range =
        at::linspace(-200, 200, 4 * kMany * kOdd);  // each gate covers the range
    const at::Tensor products = range.view({4, -1}).t().reshape({kMany, 4 * kOdd});
    const auto [h, next] = lstm_gates(products, c);
    const auto [exact_h, exact_next] = lstm_gates(products.to(at::kDouble), c.to(at::kDouble));
    EXPECT_LE((h - exact_h).abs().max().item<double>(), 1e-6);
    EXPECT_LE((next - exact_next).abs().max().item<double>(), 1e-6);
  }
}

TEST(LstmGates, KeepNan) {
  const at::Tensor products = at::full({1, 4}, std::nanf(""));
  EXPECT_TRUE(std::isnan(lstm_gates(products, at::zeros({1, 1})).h.item<float>()));
}

TEST(LstmGates, RefuseWhatDoesNotFit) {
  EXPECT_THROW(lstm_gates(at::zeros({2, 9}), at::zeros({2, 2})), c10::Error);
  EXPECT_THROW(lstm_gates(at::zeros({2, 8}), at::zeros({2, 2}, at::kDouble)), c10::Error);
  EXPECT_THROW(lstm_gates(at::zeros({8, 2}).t(), at::zeros({2, 2})), c10::Error);
}

}  // namespace
}  // namespace fathom::ops
