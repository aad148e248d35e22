// Results of ops against plain loops or another formula, in float64.
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/core/check.h"
#include "ops/kernels/multinomial.h"
#include "ops/kernels/recurrent/lstm_cell.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

struct Formula {
  const char* type;
  double (*of)(double x, double y);
};

class Formulas : public testing::TestWithParam<Formula> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, Formulas,
    testing::Values(
        Formula{"relu", [](double x, double) { return std::max(x, 0.0); }},
        Formula{"clipped_relu", [](double x, double) { return std::clamp(x, 0.0, 20.0); }},
        Formula{"sigmoid", [](double x, double) { return 1 / (1 + std::exp(-x)); }},
        Formula{"tanh", [](double x, double) { return std::tanh(x); }},
        Formula{"gelu", [](double x, double) { return x * std::erfc(-x / std::sqrt(2)) / 2; }},
        Formula{"add", [](double x, double y) { return x + y; }},
        Formula{"sub", [](double x, double y) { return x - y; }},
        Formula{"mul", [](double x, double y) { return x * y; }},
        Formula{"div", [](double x, double y) { return x / y; }},
        Formula{"exp", [](double x, double) { return std::exp(x); }},
        Formula{"sqrt", [](double x, double) { return std::sqrt(x); }},
        Formula{"square", [](double x, double) { return x * x; }},
        Formula{"neg", [](double x, double) { return -x; }},
        Formula{"sgd", [](double p, double g) { return p - 0.01 * g; }},
        Formula{"momentum", [](double p, double g) { return p - 0.01 * (g + 5e-4 * p); }},
        Formula{"nesterov", [](double p, double g) { return p - 0.01 * 1.9 * g; }},
        Formula{"adam",  // the first bias-corrected step is g / |g|
                [](double p, double g) { return p - 1e-3 * g / (std::abs(g) + 1e-8); }},
        Formula{"adamw",
                [](double p, double g) {
                  return p * (1 - 1e-3 * 0.1) - 1e-3 * g / (std::abs(g) + 1e-8);
                }},
        Formula{"adagrad",
                [](double p, double g) {
                  const double decayed = g + p / 60'000;
                  return p - 0.01 * decayed / (std::abs(decayed) + 1e-10);
                }}),
    [](const auto& one) { return std::string(one.param.type); });

TEST_P(Formulas, HoldForEveryElement) {
  const bool update = op_type(GetParam().type)->passes[0] == kUpdate;
  Tensors in;
  const at::Tensor found = exact(GetParam().type, update ? kUpdate : kForward,
                                 update ? R"({"tensors": [[101]]})" : R"({"sizes": [101]})", &in);
  for (int64_t i = 0; i < 101; ++i) {
    const double y = in.size() > 1 ? in[1][i].item<double>() : 0;
    EXPECT_NEAR(found[i].item<double>(), GetParam().of(in[0][i].item<double>(), y), 1e-12);
  }
}

TEST(Gelu, HasAnApproximationWithTanh) {
  Tensors in;
  const at::Tensor found = exact("gelu", kForward, R"({"sizes": [101], "tanh": true})", &in);
  for (int64_t i = 0; i < 101; ++i) {
    const double x = in[0][i].item<double>();
    const double inner = std::sqrt(2 / 3.141592653589793) * (x + 0.044715 * x * x * x);
    EXPECT_NEAR(found[i].item<double>(), x * (1 + std::tanh(inner)) / 2, 1e-12);
  }
}

TEST(GroupNorm, HasTheMeanAndVarianceOfEachGroup) {
  Tensors in;
  const at::Tensor found =
      exact("group_norm", kForward, R"({"sizes": [2, 6, 5], "groups": 3})", &in).view({2, 6, 5});
  const at::Tensor groups = in[0].view({2, 3, 10});
  const at::Tensor mean = groups.mean(2, /*keepdim=*/true);
  const at::Tensor variance = (groups - mean).square().mean(2, /*keepdim=*/true);
  const at::Tensor normal = ((groups - mean) / (variance + 1e-5).sqrt()).view({2, 6, 5});
  EXPECT_TRUE(found.allclose(normal * in[1].unsqueeze(1) + in[2].unsqueeze(1)));
}

TEST(LayerNorm, HasTheMeanAndVarianceOfEachRow) {
  Tensors in;
  const at::Tensor found =
      exact("layer_norm", kForward, R"({"sizes": [3, 5, 7], "normalized": 2})", &in).view({3, 35});
  const at::Tensor rows = in[0].view({3, 35});
  const at::Tensor mean = rows.mean(1, /*keepdim=*/true);
  const at::Tensor variance = (rows - mean).square().mean(1, /*keepdim=*/true);
  const at::Tensor normal = (rows - mean) / (variance + 1e-5).sqrt();
  EXPECT_TRUE(found.allclose(normal * in[1].flatten() + in[2].flatten()));
}

TEST(UpsampleNearest, RepeatsPixels) {
  Tensors in;
  const at::Tensor found =
      exact("upsample_nearest", kForward, R"({"sizes": [1, 2, 3, 4], "output": [6, 12]})", &in);
  const at::Tensor expected = in[0].repeat_interleave(2, 2).repeat_interleave(3, 3);
  EXPECT_TRUE(at::equal(found, expected.flatten()));
}

TEST(Index, PicksSlicesAndAddsTheirGradients) {
  const auto op = make_op("index", kBackward, R"({"sizes": [2, 5, 3], "picks": 9})");
  const Tensors in = converted(op->inputs(3), at::kDouble, at::kCPU);
  const at::Tensor dx = op->call(in)()[0];
  const at::Tensor y =
      make_op("index", kForward, R"({"sizes": [2, 5, 3], "picks": 9})")->call({in[0], in[1]})()[0];
  at::Tensor expected = at::zeros({2, 5, 3}, at::kDouble);
  for (int64_t i = 0; i < 9; ++i) {
    const auto at = in[1][i].item<int64_t>();
    EXPECT_TRUE(at::equal(y.select(1, i), in[0].select(1, at)));
    expected.select(1, at) += in[2].select(1, i);
  }
  EXPECT_TRUE(dx.allclose(expected));
}

TEST(IndexPut, AddsOrReplacesSlices) {
  for (const bool accumulate : {false, true}) {
    const auto op = make_op("index_put", kForward,
                            accumulate ? R"({"sizes": [2, 5, 3], "picks": 4, "accumulate": true})"
                                       : R"({"sizes": [2, 5, 3], "picks": 4})");
    const Tensors in = converted(op->inputs(3), at::kDouble, at::kCPU);
    at::Tensor expected = in[0].clone();
    for (int64_t i = 0; i < 4; ++i) {
      const at::Tensor slice = expected.select(1, in[1][i].item<int64_t>());
      slice.copy_(accumulate ? slice + in[2].select(1, i) : in[2].select(1, i));
    }
    EXPECT_TRUE(op->call(in)()[0].allclose(expected));
  }
}

TEST(Where, SelectsByTheSignOfTheMask) {
  Tensors in;
  const at::Tensor two = exact("where", kForward, R"({"sizes": [3, 5], "mask": [5]})", &in);
  for (int64_t i = 0; i < 15; ++i) {
    const std::size_t from = in[0][i % 5].item<double>() > 0 ? 1 : 2;
    EXPECT_EQ(two[i].item<double>(), in[from].flatten()[i].item<double>());
  }
  const at::Tensor one = exact("where", kForward, R"({"sizes": [15], "number": true})", &in);
  for (int64_t i = 0; i < 15; ++i)
    EXPECT_EQ(one[i].item<double>(), in[0][i].item<double>() > 0 ? in[1][i].item<double>() : 0);
}

TEST(ClipNorm, ScalesAllGradientsToTheLargestNorm) {
  const auto op = make_op("clip_norm", kUpdate, R"({"tensors": [[3, 5], [7]]})");
  const Tensors in = converted(op->inputs(3), at::kDouble, at::kCPU);
  const at::Tensor before = in[1].clone();
  const double norm = std::sqrt((in[0].square().sum() + in[1].square().sum()).item<double>());
  op->call(in)();
  EXPECT_TRUE(in[1].allclose(before * 0.1 / norm, 1e-4));
  EXPECT_NEAR((in[0].square().sum() + in[1].square().sum()).item<double>(), 0.01, 1e-6);
}

TEST(BatchedMatmul, SumsProductsOfTransposedFactors) {
  Tensors in;
  const at::Tensor found = exact("batched_matmul", kForward,
                                 R"({"batch": 2, "m": 3, "n": 5, "k": 7, "transpose_a": true,
                                     "transpose_b": true, "addend": true})",
                                 &in);
  const at::Tensor expected =
      (in[0].transpose(1, 2).unsqueeze(3) * in[1].transpose(1, 2).unsqueeze(1)).sum(2) + in[2];
  EXPECT_TRUE(found.allclose(expected.flatten()));
}

/// softmax(q · kᵀ / sqrt(width) + mask) · v; q, k and v are [batch, places, heads, width].
at::Tensor attention(const Tensors& in, const at::Tensor& mask) {
  const auto heads = [&](std::size_t i) { return in[i].transpose(1, 2); };
  const double scale = std::sqrt(static_cast<double>(in[0].size(3)));
  const at::Tensor scores = heads(0).matmul(heads(1).transpose(2, 3)) / scale + mask;
  return scores.softmax(3).matmul(heads(2)).transpose(1, 2);
}

TEST(ScaledDotProductAttention, WeighsTheValuesByTheSoftmaxOfTheScores) {
  const std::string sizes = R"({"batch": 2, "heads": 3, "queries": 5, "keys": 7, "width": 4)";
  const auto op = [&](const char* more) {
    return make_op("scaled_dot_product_attention", kForward, sizes + more);
  };
  const auto inputs = [](const Op& one) { return converted(one.inputs(3), at::kDouble, at::kCPU); };

  Tensors in = inputs(*op("}"));
  const at::Tensor none = at::zeros({5, 7}, at::kDouble);
  EXPECT_TRUE(op("}")->call(in)()[0].allclose(attention(in, none)));

  const at::Tensor later = at::ones({5, 7}, at::kBool).triu(1);
  const at::Tensor causal = none.masked_fill(later, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(op(R"(, "causal": true})")->call(in)()[0].allclose(attention(in, causal)));

  const auto masked = op(R"(, "mask": [2, 1, 1, 7]})");
  in = inputs(*masked);
  EXPECT_TRUE(in[3].isinf().any().item<bool>());
  EXPECT_TRUE(masked->call(in)()[0].allclose(attention(in, in[3])));
}

TEST(Lstm, IsALoopOfCells) {
  const auto op =
      make_op("lstm", kForward, R"({"steps": 4, "n": 3, "inputs": 5, "width": 2, "bias": true})");
  for (const auto type : {at::kFloat, at::kDouble}) {
    const Tensors in = converted(op->inputs(3), type, at::kCPU);
    const at::Tensor weight = at::cat({in[3], in[4]}, 1);
    LstmState state{.h = in[1][0], .c = in[2][0]};
    const Tensors found = op->call(in)();
    for (int64_t step = 0; step < 4; ++step) {
      state = lstm_cell(in[0][step], state, weight, in[5] + in[6]);
      EXPECT_TRUE(at::allclose(found[0][step], state.h, 1e-5, 1e-6));
    }
    EXPECT_TRUE(at::allclose(found[1][0], state.h, 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(found[2][0], state.c, 1e-5, 1e-6));
  }
}

TEST(GruOp, IsALoopOfCells) {
  const auto op = make_op("gru", kForward, R"({"steps": 4, "n": 3, "inputs": 5, "width": 2})");
  const auto cell = make_op("gru_cell", kForward, R"({"n": 3, "inputs": 5, "width": 2})");
  const Tensors in = converted(op->inputs(3), at::kDouble, at::kCPU);
  Tensors of_cell = in;
  const at::Tensor found = op->call(in)()[0];
  for (int64_t step = 0; step < 4; ++step) {
    of_cell[0] = in[0][step];
    of_cell[1] = cell->call(of_cell)()[0];
    EXPECT_TRUE(found[step].allclose(of_cell[1]));
  }
}

/// The mean of a window's taps. Those on padding count as 0 unless `inside`.
double window_mean(const at::Tensor& plane, int64_t top, int64_t left, bool inside) {
  double sum = 0;
  double taps = 0;
  for (int64_t y = top; y < top + 3; ++y) {
    for (int64_t x = left; x < left + 3; ++x) {
      const bool in_image = y >= 0 && y < plane.size(0) && x >= 0 && x < plane.size(1);
      if (in_image) sum += plane[y][x].item<double>();
      if (in_image || !inside) ++taps;
    }
  }
  return sum / taps;
}

TEST(AvgPool, CountsThePaddingUnlessItIsExcluded) {
  for (const bool inside : {false, true}) {
    const std::string fields = std::string(R"({"sizes": [1, 2, 5, 4], "kernel": [3, 3],
                                              "stride": [1, 1], "padding": [1, 1])") +
                               (inside ? R"(, "exclude_padding": true})" : "}");
    Tensors in;
    const at::Tensor found = exact("avg_pool", kForward, fields.c_str(), &in).view({2, 5, 4});
    for (int64_t c = 0; c < 2; ++c) {
      for (int64_t y = 0; y < 5; ++y) {
        for (int64_t x = 0; x < 4; ++x) {
          EXPECT_NEAR(found[c][y][x].item<double>(), window_mean(in[0][0][c], y - 1, x - 1, inside),
                      1e-12);
        }
      }
    }
  }
}

TEST(Multinomial, DrawsClassesAsOftenAsTheirWeights) {
  constexpr int64_t kRows = 20'000;
  const std::vector<double> weights{1, 0, 2, 7};
  at::manual_seed(1);
  const at::Tensor drawn = multinomial(at::tensor(weights).expand({kRows, 4}).contiguous());
  EXPECT_EQ(drawn.sizes(), (std::vector<int64_t>{kRows, 1}));
  for (int64_t i = 0; i < 4; ++i) {
    const double share = weights[static_cast<std::size_t>(i)] / 10;
    const double deviation = std::sqrt(share * (1 - share) / kRows);
    EXPECT_NEAR(drawn.eq(i).to(at::kDouble).mean().item<double>(), share, 5 * deviation) << i;
  }
}

}  // namespace
}  // namespace fathom::ops
