#include "ops/kernels/recurrent/gru.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <tuple>
#include <vector>

#include "fixtures/machine/device.h"
#include "ops/kernels/recurrent/gru_gates.h"
#include "ops/kernels/recurrent/gru_layers.h"
#include "tests/ops/gradients.h"

namespace fathom::ops {
namespace {

constexpr int64_t kSteps = 5;
constexpr int64_t kSamples = 3;
constexpr int64_t kInputs = 4;
constexpr int64_t kWidth = 2;

/// Inputs of a layer.
struct Given : tests::Inputs {
  explicit Given(int64_t steps = kSteps)
      : x(given("x", {steps, kSamples, kInputs})),
        h(given("h", {kSamples, kWidth})),
        weights{.input = given("input", {3 * kWidth, kInputs}),
                .recurrent = given("recurrent", {3 * kWidth, kWidth}),
                .input_bias = given("input_bias", {3 * kWidth}),
                .recurrent_bias = given("recurrent_bias", {3 * kWidth})} {}

  at::Tensor x;
  at::Tensor h;
  GruWeights weights;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Row `row` of weight [rows, columns] times `vector`, plus the bias.
double product(const at::Tensor& weight, const at::Tensor& bias, int64_t row,
               const double* vector) {
  const int64_t columns = weight.size(1);
  double sum = bias.const_data_ptr<double>()[row];
  for (int64_t i = 0; i < columns; ++i)
    sum += weight.const_data_ptr<double>()[row * columns + i] * vector[i];
  return sum;
}

/// Σ weights · states in plain loops over each sample.
double reference(const Given& given, const at::Tensor& weights, Direction direction) {
  const int64_t steps = given.x.size(0);
  const GruWeights& w = given.weights;
  double sum = 0;
  for (int64_t n = 0; n < kSamples; ++n) {
    std::array<double, kWidth> h{};
    for (int64_t k = 0; k < kWidth; ++k)
      h[static_cast<std::size_t>(k)] = given.h.const_data_ptr<double>()[n * kWidth + k];
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t t = direction == Direction::kForward ? i : steps - 1 - i;
      const double* x = given.x.const_data_ptr<double>() + (t * kSamples + n) * kInputs;
      std::array<double, kWidth> next{};
      for (int64_t k = 0; k < kWidth; ++k) {
        std::array<double, 3> inside{};
        std::array<double, 3> recurrent{};
        for (std::size_t gate = 0; gate < 3; ++gate) {
          const int64_t row = static_cast<int64_t>(gate) * kWidth + k;
          inside[gate] = product(w.input, w.input_bias, row, x);
          recurrent[gate] = product(w.recurrent, w.recurrent_bias, row, h.data());
        }
        const double r = sigmoid(inside[0] + recurrent[0]);
        const double z = sigmoid(inside[1] + recurrent[1]);
        const double candidate = std::tanh(inside[2] + r * recurrent[2]);
        const auto unit = static_cast<std::size_t>(k);
        next[unit] = (1 - z) * candidate + z * h[unit];
        sum += weights.const_data_ptr<double>()[(t * kSamples + n) * kWidth + k] * next[unit];
      }
      h = next;
    }
  }
  return sum;
}

class GruLayer : public testing::Test {
 protected:
  GruLayer() {
    fixtures::set_threads(1);
    at::manual_seed(3);
  }
};

class GruDirection : public GruLayer, public testing::WithParamInterface<Direction> {};

INSTANTIATE_TEST_SUITE_P(Directions, GruDirection,
                         testing::Values(Direction::kForward, Direction::kBackward),
                         [](const auto& direction) {
                           return direction.param == Direction::kForward ? "Forward" : "Backward";
                         });

TEST_P(GruDirection, AgreesWithPlainLoopsInFloat64) {
  for (const int64_t steps : {kSteps, int64_t{1}}) {
    Given given(steps);
    const at::Tensor weights = at::randn({steps, kSamples, kWidth}, at::kDouble);
    tests::expect_gradients(
        given.tensors,
        [&] { return (gru(given.x, given.h, given.weights, GetParam()) * weights).sum(); },
        [&] { return reference(given, weights, GetParam()); }, 1000);
  }
}

TEST_F(GruLayer, OfACellAgreesWithPlainLoopsInFloat64) {
  Given given(1);
  const at::Tensor weights = at::randn({1, kSamples, kWidth}, at::kDouble);
  tests::expect_gradients(
      given.tensors,
      [&] { return (gru_cell(given.x[0], given.h, given.weights) * weights[0]).sum(); },
      [&] { return reference(given, weights, Direction::kForward); }, 1000);
}

/// The weights of LibTorch's layer.
std::vector<at::Tensor> listed(const GruWeights& weights) {
  return {weights.input, weights.recurrent, weights.input_bias, weights.recurrent_bias};
}

/// Both directions of `weights` and another layer's, as a sum; and the gradients of all.
std::vector<at::Tensor> with_gradients(const at::Tensor& sum, const Given& ahead,
                                       const Given& back) {
  std::vector<at::Tensor> found{sum.detach()};
  (sum * at::linspace(-1, 1, sum.numel(), at::kDouble).view_as(sum)).sum().backward();
  std::vector<at::Tensor> leaves = listed(ahead.weights);
  const auto others = listed(back.weights);
  leaves.insert(leaves.end(), others.begin(), others.end());
  leaves.push_back(ahead.x);
  for (auto& leaf : leaves) {
    found.push_back(leaf.grad().clone());
    leaf.mutable_grad().reset();
  }
  return found;
}

TEST_F(GruLayer, InBothDirectionsIsTheSumOfLibTorchs) {
  const Given ahead;
  const Given back;
  const auto ours =
      with_gradients(bidirectional_gru(ahead.x, ahead.weights, back.weights), ahead, back);
  std::vector<at::Tensor> weights = listed(ahead.weights);
  const auto others = listed(back.weights);
  weights.insert(weights.end(), others.begin(), others.end());
  const auto both = std::get<0>(at::gru(ahead.x, at::zeros({2, kSamples, kWidth}, at::kDouble),
                                        weights, true, 1, 0, true, true, false));
  const auto expected =
      with_gradients(both.narrow(2, 0, kWidth) + both.narrow(2, kWidth, kWidth), ahead, back);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(ours[i].allclose(expected[i], 1e-10, 1e-12)) << i;
}

TEST_F(GruLayer, GivesNoGradientOfAnInputThatNeedsNone) {
  const Given given;
  const at::Tensor x = given.x.detach();
  gru(x, given.h.detach(), given.weights, Direction::kForward).sum().backward();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_TRUE(given.weights.input.grad().defined());
}

TEST_F(GruLayer, RunsInAutocastsType) {
  const at::Tensor x = at::randn({kSteps, kSamples, kInputs});
  const at::Tensor h = at::randn({kSamples, kWidth});
  const GruWeights weights{.input = at::randn({3 * kWidth, kInputs}).requires_grad_(),
                           .recurrent = at::randn({3 * kWidth, kWidth}).requires_grad_(),
                           .input_bias = at::randn({3 * kWidth}).requires_grad_(),
                           .recurrent_bias = at::randn({3 * kWidth}).requires_grad_()};
  const at::Tensor exact = gru(x, h, weights, Direction::kForward);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor rounded = gru(x, h, weights, Direction::kForward);
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(rounded.to(at::kFloat).allclose(exact, 0.03, 0.03));
  rounded.sum().backward();
  for (const auto& weight : listed(weights)) EXPECT_EQ(weight.grad().scalar_type(), at::kFloat);
}

// ---- the gates alone

/// {next, recurrence, gates} and {carried, dgates, dproducts} of one step in `type`.
std::vector<at::Tensor> stepped(const std::vector<at::Tensor>& inputs, at::ScalarType type) {
  const auto in = [&](std::size_t i) { return inputs[i].to(type).clone(); };
  const GruGates forward{.gates = in(0),
                         .products = in(1),
                         .h = in(2),
                         .next = in(2).zero_(),
                         .recurrence = in(2).zero_()};
  gru_gates(forward);
  const GruGatesBackward backward{.gates = forward.gates,
                                  .recurrence = forward.recurrence,
                                  .h = forward.h,
                                  .g = in(3),
                                  .carried = in(4),
                                  .dgates = in(0).zero_(),
                                  .dproducts = in(0).zero_()};
  gru_gates_backward(backward);
  std::vector<at::Tensor> found{forward.next,     forward.recurrence, forward.gates,
                                backward.carried, backward.dgates,    backward.dproducts};
  for (auto& tensor : found) tensor = tensor.to(at::kDouble);
  return found;
}

/// float runs the loops of the CPU. float16, which they do not support, runs LibTorch's ops, as a
/// GPU does.
TEST(GruGates, AreTheSameInLoopsAndInLibTorchsOps) {
  constexpr int64_t kMany = 70;
  constexpr int64_t kOdd = 67;
  at::manual_seed(5);
  const std::vector<at::Tensor> inputs{at::randn({kMany, 3 * kOdd}), at::randn({kMany, 3 * kOdd}),
                                       at::randn({kMany, kOdd}), at::randn({kMany, kOdd}),
                                       at::randn({kMany, kOdd})};
  for (const int threads : {1, 2}) {
    fixtures::set_threads(threads);
    const auto exact = stepped(inputs, at::kDouble);
    for (const auto& [type, tolerance] : {std::pair{at::kFloat, 1e-5}, std::pair{at::kHalf, 1e-2},
                                          std::pair{at::kBFloat16, 1e-1}}) {
      const auto found = stepped(inputs, type);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        EXPECT_LT((found[i] - exact[i]).abs().max().item<double>(), tolerance) << type << ' ' << i;
      }
    }
  }
}

TEST(GruGates, OfFloatAreExactFarFromZeroToo) {
  constexpr int64_t kUnits = 1001;
  const at::Tensor range = at::linspace(-200, 200, kUnits).unsqueeze(0);
  const std::vector<at::Tensor> inputs{at::cat({range, range.flip(1), range}, 1),
                                       at::zeros({1, 3 * kUnits}), range / 100, range / 100,
                                       at::zeros({1, kUnits})};
  const auto exact = stepped(inputs, at::kDouble);
  const auto found = stepped(inputs, at::kFloat);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_LT((found[i] - exact[i]).abs().max().item<double>(), 2e-6) << i;
  }
}

}  // namespace
}  // namespace fathom::ops
