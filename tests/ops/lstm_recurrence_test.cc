#include "ops/kernels/recurrent/lstm_recurrence.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fixtures/machine/device.h"
#include "tests/ops/gradients.h"

namespace fathom::ops {
namespace {

constexpr int64_t kSteps = 6;
constexpr int64_t kSequences = 4;
constexpr int64_t kWidth = 3;

const std::vector<int64_t> kLengths{kSteps, 1, 4, 5};

/// Inputs of the recurrence.
struct Given : tests::Inputs {
  Given()
      : x(given("x", {kSteps, kSequences, 4 * kWidth})),
        recurrent(given("recurrent", {4 * kWidth, kWidth})) {}

  at::Tensor x;
  at::Tensor recurrent;
};

/// Random weights of the results in a loss.
struct Weights {
  at::Tensor h = at::randn({kSteps, kSequences, kWidth}, at::kDouble);
  at::Tensor last_c = at::randn({kSequences, kWidth}, at::kDouble);
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Σ h · weights.h + Σ last c · weights.last_c, in plain loops over each sequence.
double reference(const Given& given, const Weights& weights) {
  const auto* x = given.x.const_data_ptr<double>();
  const auto* recurrent = given.recurrent.const_data_ptr<double>();
  constexpr auto kUnits = static_cast<std::size_t>(kWidth);
  double sum = 0;
  for (int64_t n = 0; n < kSequences; ++n) {
    std::array<double, kUnits> h{};
    std::array<double, kUnits> c{};
    for (int64_t t = kSteps - kLengths[static_cast<std::size_t>(n)]; t < kSteps; ++t) {
      std::array<double, 4 * kUnits> gates{};
      for (std::size_t row = 0; row < gates.size(); ++row) {
        gates[row] = x[static_cast<std::size_t>(t * kSequences + n) * gates.size() + row];
        for (std::size_t j = 0; j < kUnits; ++j) gates[row] += recurrent[row * kUnits + j] * h[j];
      }
      for (std::size_t k = 0; k < kUnits; ++k) {
        c[k] = sigmoid(gates[kUnits + k]) * c[k] +
               sigmoid(gates[k]) * std::tanh(gates[2 * kUnits + k]);
        h[k] = sigmoid(gates[3 * kUnits + k]) * std::tanh(c[k]);
        sum += h[k] * weights.h[t][n][static_cast<int64_t>(k)].item<double>();
      }
    }
    for (std::size_t k = 0; k < kUnits; ++k) {
      sum += c[k] * weights.last_c[n][static_cast<int64_t>(k)].item<double>();
    }
  }
  return sum;
}

struct Implementation {
  const char* name;
  LstmSequence (*run)(const at::Tensor& x, const at::Tensor& recurrent, const at::Tensor& lengths);
};

class LstmRecurrence : public testing::TestWithParam<Implementation> {
 protected:
  LstmRecurrence() {
    fixtures::set_threads(1);
    at::manual_seed(3);
  }
  LstmSequence run(const Given& given) const {
    return GetParam().run(given.x, given.recurrent, at::tensor(kLengths));
  }
};

INSTANTIATE_TEST_SUITE_P(Both, LstmRecurrence,
                         testing::Values(Implementation{"Fused", lstm_recurrence},
                                         Implementation{"Composed", composed_lstm_recurrence}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(LstmRecurrence, AgreesWithPlainLoopsInFloat64) {
  Given given;
  const Weights weights;
  tests::expect_gradients(
      given.tensors,
      [&] {
        const auto [h, last_c] = run(given);
        return (h * weights.h).sum() + (last_c * weights.last_c).sum();
      },
      [&] { return reference(given, weights); }, 1000);
}

/// A loss of one result has no gradient for the other one.
TEST_P(LstmRecurrence, MayHaveOneResultInALoss) {
  for (const bool of_states : {true, false}) {
    Given given;
    Weights weights;
    (of_states ? weights.last_c : weights.h).zero_();
    tests::expect_gradients(
        given.tensors,
        [&] {
          const auto [h, last_c] = run(given);
          return of_states ? (h * weights.h).sum() : (last_c * weights.last_c).sum();
        },
        [&] { return reference(given, weights); }, 1000);
  }
}

TEST_P(LstmRecurrence, StartsWithTheSequence) {
  Given given;
  const c10::NoGradGuard no_grad;
  const auto [h, last_c] = run(given);
  EXPECT_EQ(h.select(1, 1).slice(0, 0, kSteps - 1).abs().max().item<double>(), 0);
  EXPECT_GT(h.select(1, 1)[-1].abs().min().item<double>(), 0);
  given.x.select(1, 2).slice(0, 0, kSteps - 4).fill_(1e3);  // before it
  const auto [same_h, same_c] = run(given);
  EXPECT_TRUE(h.equal(same_h));
  EXPECT_TRUE(last_c.equal(same_c));
}

}  // namespace
}  // namespace fathom::ops
