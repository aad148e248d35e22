#include "ops/kernels/recurrent/clipped_relu_rnn.h"

#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fixtures/machine/device.h"
#include "tests/ops/gradients.h"

namespace fathom::ops {
namespace {

constexpr int64_t kFrames = 7;
constexpr int64_t kUtterances = 4;
constexpr int64_t kWidth = 5;

/// Inputs of the recurrence.
struct Given : tests::Inputs {
  Given()
      : x(given("x", {kFrames, kUtterances, kWidth}, 8)),
        recurrent(given("recurrent", {kWidth, kWidth})) {}

  at::Tensor x;
  at::Tensor recurrent;
};

const std::vector<int64_t> kLengths{kFrames, 1, 4, 6};

/// Σ weights · h, with h from plain loops over each utterance.
double reference(const Given& given, const at::Tensor& weights, Direction direction) {
  const auto* x = given.x.const_data_ptr<double>();
  const auto* recurrent = given.recurrent.const_data_ptr<double>();
  double sum = 0;
  for (int64_t n = 0; n < kUtterances; ++n) {
    std::vector<double> before(kWidth, 0);
    const int64_t length = kLengths[static_cast<std::size_t>(n)];
    for (int64_t i = 0; i < length; ++i) {
      const int64_t t = direction == Direction::kForward ? i : length - 1 - i;
      std::vector<double> now(kWidth);
      for (std::size_t k = 0; k < kWidth; ++k) {
        const auto at = static_cast<std::size_t>((t * kUtterances + n) * kWidth) + k;
        double inside = x[at];
        for (std::size_t j = 0; j < kWidth; ++j) inside += recurrent[k * kWidth + j] * before[j];
        now[k] = std::clamp(inside, 0.0, 20.0);
        sum += weights.const_data_ptr<double>()[at] * now[k];
      }
      before = now;
    }
  }
  return sum;
}

class ClippedReluRnn : public testing::TestWithParam<Direction> {
 protected:
  ClippedReluRnn() {
    fixtures::set_threads(1);
    at::manual_seed(3);
  }
};

INSTANTIATE_TEST_SUITE_P(Directions, ClippedReluRnn,
                         testing::Values(Direction::kForward, Direction::kBackward),
                         [](const auto& direction) {
                           return direction.param == Direction::kForward ? "Forward" : "Backward";
                         });

TEST_P(ClippedReluRnn, AgreesWithPlainLoopsInFloat64) {
  Given given;
  const at::Tensor weights = at::randn({kFrames, kUtterances, kWidth}, at::kDouble);
  const at::Tensor lengths = at::tensor(kLengths);
  tests::expect_gradients(
      given.tensors,
      [&] {
        return (clipped_relu_rnn(given.x, given.recurrent, lengths, GetParam()) * weights).sum();
      },
      [&] { return reference(given, weights, GetParam()); }, 1000);
}

TEST_P(ClippedReluRnn, ClipsBothSidesAndEndsWithTheUtterance) {
  const Given given;
  const c10::NoGradGuard no_grad;
  const at::Tensor h = clipped_relu_rnn(given.x, given.recurrent, at::tensor(kLengths), GetParam());
  EXPECT_EQ(h.min().item<double>(), 0);
  EXPECT_EQ(h.max().item<double>(), kClip);  // x is large enough
  EXPECT_EQ(h.select(1, 1).slice(0, 1).abs().max().item<double>(), 0);
}

TEST_P(ClippedReluRnn, IgnoresFramesAfterTheEndOfAnUtterance) {
  Given given;
  const c10::NoGradGuard no_grad;
  const at::Tensor lengths = at::tensor(kLengths);
  const at::Tensor before = clipped_relu_rnn(given.x, given.recurrent, lengths, GetParam());
  given.x.select(1, 2).slice(0, 4).fill_(1e3);
  EXPECT_TRUE(before.equal(clipped_relu_rnn(given.x, given.recurrent, lengths, GetParam())));
}

}  // namespace
}  // namespace fathom::ops
