// Losses against plain loops or another formula, in float64.
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ops/core/check.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

TEST(HuberLoss, IsSquaredToOneAndLinearBeyond) {
  Tensors in;
  const at::Tensor found = exact("huber_loss", kForward, R"({"sizes": [101]})", &in);
  double sum = 0;
  for (int64_t i = 0; i < 101; ++i) {
    const double off = std::abs((in[0][i] - in[1][i]).item<double>());
    sum += off < 1 ? off * off / 2 : off - 0.5;
  }
  EXPECT_NEAR(found[0].item<double>(), sum, 1e-10);
}

TEST(SmoothL1Loss, IsSquaredToANinthAndLinearBeyond) {
  Tensors in;
  const at::Tensor found = exact("smooth_l1_loss", kForward, R"({"sizes": [101]})", &in);
  double sum = 0;
  for (int64_t i = 0; i < 101; ++i) {
    const double off = std::abs((in[0][i] - in[1][i]).item<double>());
    sum += off < 1.0 / 9 ? 4.5 * off * off : off - 1.0 / 18;
  }
  EXPECT_NEAR(found[0].item<double>(), sum, 1e-10);
}

TEST(BinaryCrossEntropy, IsTheMeanOfBothLogarithms) {
  Tensors in;
  const at::Tensor found = exact("bce_loss", kForward, R"({"sizes": [101]})", &in);
  double sum = 0;
  for (int64_t i = 0; i < 101; ++i) {
    const double probability = 1 / (1 + std::exp(-in[0][i].item<double>()));
    const double target = in[1][i].item<double>();
    EXPECT_TRUE(target >= 0 && target <= 1);
    sum -= target * std::log(probability) + (1 - target) * std::log(1 - probability);
  }
  EXPECT_NEAR(found[0].item<double>(), sum / 101, 1e-12);
}

TEST(LogSoftmax, IsTheLogarithmOfShares) {
  Tensors in;
  const at::Tensor found = exact("log_softmax", kForward, R"({"sizes": [2, 5, 3]})", &in);
  const at::Tensor shares = in[0].exp() / in[0].exp().sum(1, /*keepdim=*/true);
  EXPECT_TRUE(found.allclose(shares.log().flatten()));
}

/// With smoothing s, a label has the probability 1 - s + s / C, the other classes s / C.
TEST(SoftmaxCrossEntropy, SmoothsLabelsAndIgnoresPadding) {
  constexpr int64_t kLabels = 40;
  constexpr int64_t kClasses = 7;
  for (const double smoothing : {0.0, 0.3}) {
    for (const bool padding : {false, true}) {
      const std::string fields = R"({"n": 40, "classes": 7, "smoothing": )" +
                                 std::to_string(smoothing) +
                                 (padding ? R"(, "padding": true})" : "}");
      Tensors in;
      const at::Tensor found = exact("softmax_cross_entropy", kForward, fields.c_str(), &in);
      double sum = 0;
      int64_t counted = 0;
      for (int64_t i = 0; i < kLabels; ++i) {
        const auto label = in[1][i].item<int64_t>();
        if (padding && label == 0) continue;
        ++counted;
        const double total = in[0][i].exp().sum().item<double>();
        for (int64_t c = 0; c < kClasses; ++c) {
          const double share = (c == label ? 1 - smoothing : 0) + smoothing / kClasses;
          sum -= share * (in[0][i][c].item<double>() - std::log(total));
        }
      }
      EXPECT_NEAR(found.item<double>(), sum / static_cast<double>(counted), 1e-12) << fields;
      if (padding) {
        EXPECT_EQ(counted, kLabels - kLabels / 8);
      }
    }
  }
}

/// -log of the probability of all paths of T frames that collapse to the labels.
double enumerated_ctc(const at::Tensor& log_probabilities, const std::vector<int64_t>& labels) {
  const int64_t frames = log_probabilities.size(0);
  const int64_t classes = log_probabilities.size(1);
  const auto* scores = log_probabilities.const_data_ptr<double>();
  int64_t paths = 1;
  for (int64_t t = 0; t < frames; ++t) paths *= classes;
  double probability = 0;
  for (int64_t path = 0; path < paths; ++path) {
    std::vector<int64_t> collapsed;
    double score = 0;
    int64_t rest = path;
    int64_t before = 0;
    for (int64_t t = 0; t < frames; ++t, rest /= classes) {
      const int64_t now = rest % classes;
      score += scores[t * classes + now];
      if (now != before && now != 0) collapsed.push_back(now);
      before = now;
    }
    if (collapsed == labels) probability += std::exp(score);
  }
  return -std::log(probability);
}

TEST(CtcLoss, IsTheSumOverAllPaths) {
  const auto op =
      make_op("ctc_loss", kForward, R"({"frames": 6, "n": 3, "classes": 4, "labels": 2})");
  const Tensors in = converted(op->inputs(3), at::kDouble, at::kCPU);
  const at::Tensor losses = op->call(in)()[0];
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t frames = in[2][i].item<int64_t>();
    std::vector<int64_t> labels;
    for (int64_t j = 0; j < in[3][i].item<int64_t>(); ++j) {
      labels.push_back(in[1][i][j].item<int64_t>());
    }
    const double expected =
        enumerated_ctc(in[0].select(1, i).narrow(0, 0, frames).contiguous(), labels);
    EXPECT_NEAR(losses[i].item<double>(), expected, 1e-9);
  }
}

}  // namespace
}  // namespace fathom::ops
