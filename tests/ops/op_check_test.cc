// What an op's check of its results accepts and refuses, and the inputs that it takes.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/core/check.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;

TEST(UpdateCheck, FindsAnElementFarIntoALaterParameter) {
  const auto op = make_op("momentum", kUpdate, R"({"tensors": [[3], [200, 501]]})");
  const Tensors in = op->inputs(3);
  const Tensors outputs = op->call(cloned(in))();
  op->check(in, outputs, Precision::kFp32);
  outputs[1][199][400] += 1;
  try {
    op->check(in, outputs, Precision::kFp32);
    FAIL() << "accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("output 1 differs ")) << error.what();
  }
}

TEST(SortCheck, RefusesIndicesOfOtherElements) {
  for (const auto& [type, fields] :
       {std::pair{"sort", R"({"sizes": [2, 9], "dim": 1})"},
        std::pair{"top_k", R"({"sizes": [2, 9], "dim": 1, "k": 4})"}}) {
    const auto op = make_op(type, kForward, fields);
    const Tensors in = op->inputs(3);
    const Tensors right = op->call(in)();
    op->check(in, right, Precision::kFp32);
    const auto refuses = [&](const at::Tensor& values, const at::Tensor& indices) {
      EXPECT_THROW(op->check(in, {values, indices}, Precision::kFp32), std::runtime_error) << type;
    };
    refuses(right[0].flip(1), right[1].flip(1));  // in another order
    refuses(right[0], right[1].flip(0));          // of another row
    refuses(right[0], right[1].slice(1, 0, 2));
    refuses(right[0], right[1].to(at::kInt));
  }
}

TEST(SortCheck, RefusesAnUnstableSortOfAStableOne) {
  const at::Tensor x = at::zeros({1, 3});
  const at::Tensor turned = at::arange(3).flip(0).unsqueeze(0);
  const std::string sizes = R"("sizes": [1, 3], "dim": 1)";
  make_op("sort", kForward, '{' + sizes + '}')->check({x}, {x, turned}, Precision::kFp32);
  const auto stable = make_op("sort", kForward, '{' + sizes + R"(, "stable": true})");
  EXPECT_THROW(stable->check({x}, {x, turned}, Precision::kFp32), std::runtime_error);
}

TEST(EmbeddingCheck, RefusesAGradientOfZerosInBf16) {
  const auto op = make_op("embedding", kBackward, R"({"rows": 5000, "width": 4, "ids": 3000})");
  const Tensors in = converted(op->inputs(3), at::kBFloat16, at::kCPU);
  const Tensors right = op->call(in)();
  op->check(in, right, Precision::kBf16);
  EXPECT_THROW(op->check(in, {at::zeros_like(right[0])}, Precision::kBf16), std::runtime_error);
}

TEST(EmbeddingCheck, AcceptsTheRoundingOfManySummandsInBf16) {
  const auto op = make_op("embedding", kBackward, R"({"rows": 3, "width": 4, "ids": 65536})");
  const Tensors in = converted(op->inputs(3), at::kBFloat16, at::kCPU);
  op->check(in, op->call(in)(), Precision::kBf16);
}

TEST(NmsCheck, AcceptsMoreBoxesThanABlockHolds) {
  const auto op = make_op("nms", kForward, R"({"boxes": 2000, "max_overlap": 0.9})");
  const Tensors in = op->inputs(3);
  const at::Tensor kept = op->call(in)()[0];
  ASSERT_GT(kept.size(0), 512);
  op->check(in, {kept}, Precision::kFp32);
  EXPECT_THROW(op->check(in, {kept.slice(0, 0, 600)}, Precision::kFp32), std::runtime_error);
}

TEST(NmsCheck, RefusesMissingSuperfluousAndUnorderedBoxes) {
  const auto op = make_op("nms", kForward, R"({"boxes": 200, "max_overlap": 0.3})");
  const Tensors in = op->inputs(3);
  const at::Tensor kept = op->call(in)()[0];
  ASSERT_GT(kept.size(0), 2);
  ASSERT_LT(kept.size(0), 200);
  op->check(in, {kept}, Precision::kFp32);
  const auto refuses = [&](const at::Tensor& wrong) {
    EXPECT_THROW(op->check(in, {wrong}, Precision::kFp32), std::runtime_error);
  };
  refuses(kept.slice(0, 1));
  refuses(kept.slice(0, 0, -1));
  refuses(kept.flip(0));
  refuses(at::cat({kept, kept.slice(0, -1)}));
  refuses(std::get<1>(in[1].sort(0, /*descending=*/true)));  // all boxes
  refuses(kept.to(at::kInt));
  refuses(kept.unsqueeze(0));
}

TEST(Tolerances, AreNoLooserInFp32ThanInTf32) {
  for (const Case& one : op_cases()) {
    const auto op = make_op(one);
    const auto limit = [&](Precision precision) {
      return op->tolerance_factor(precision) * tolerance(precision);
    };
    EXPECT_LE(limit(Precision::kFp32), 1.0001 * limit(Precision::kTf32)) << case_name(one);
  }
}

/// Shapes whose exact results are 0 or cancel, and which kernels round.
const std::vector<Case> kCancelling{
    {"scaled_dot_product_attention", kBackward,
     R"({"batch": 2, "heads": 4, "queries": 8, "keys": 1, "width": 64})"},
    {"scaled_dot_product_attention", kBackward,
     R"({"batch": 2, "heads": 4, "queries": 1, "keys": 1, "width": 64, "causal": true})"},
    {"additive_attention", kBackward, R"({"n": 4, "places": 1, "width": 8, "query": 8})"},
    {"softmax", kBackward, R"({"sizes": [64, 1]})"},
    {"log_softmax", kForward, R"({"sizes": [64, 1]})"},
    {"log_softmax", kBackward, R"({"sizes": [64, 1]})"},
    {"softmax_cross_entropy", kForward, R"({"n": 64, "classes": 1})"},
    {"softmax_cross_entropy", kBackward, R"({"n": 64, "classes": 1})"},
    {"batch_norm", kBackward, R"({"sizes": [2, 64]})"},
    {"batch_norm", kForward, R"({"sizes": [1, 5]})"},
    {"batch_norm", kBackward, R"({"sizes": [1, 5]})"},
    {"layer_norm", kBackward, R"({"sizes": [7, 1]})"},
    {"layer_norm", kBackward, R"({"sizes": [7, 2]})"},
    {"add_layer_norm", kBackward, R"({"sizes": [7, 1]})"},
    {"add_layer_norm", kBackward, R"({"sizes": [7, 2]})"},
    {"group_norm", kForward, R"({"sizes": [2, 4, 1, 1], "groups": 4})"},
    {"group_norm", kBackward, R"({"sizes": [2, 4, 1, 1], "groups": 4})"},
    {"group_norm", kBackward, R"({"sizes": [2, 4, 2], "groups": 4})"},
    {"matmul", kForward, R"({"m": 1, "n": 1, "k": 4194304})"},
    {"sum", kForward, R"({"sizes": [4194304]})"},
    {"lstm_cell", kBackward, R"({"n": 1, "inputs": 1, "width": 1})"},
    {"gru_cell", kBackward, R"({"n": 1, "inputs": 1, "width": 1})"},
};

TEST(CancellingResults, AreAcceptedWithTheRoundingOfTheirSummands) {
  for (const Case& one : kCancelling) {
    const auto op = make_op(one);
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      const Tensors in = converted(op->inputs(3), scalar_type(precision), at::kCPU);
      EXPECT_NO_THROW(op->check(in, op->call(in)(), precision))
          << case_name(one) << ' ' << name(precision);
      if (const Call native = op->native(in); native != nullptr) {
        EXPECT_NO_THROW(op->check(in, native(), precision))
            << case_name(one) << ' ' << name(precision) << " native";
      }
    }
  }
}

TEST(CancellingResults, AreRefusedWithErrorsOfTheSizeOfTheirSummands) {
  for (const Case& one : kCancelling) {
    const auto op = make_op(one);
    const Tensors in = op->inputs(3);
    const Tensors right = op->exact(in);
    for (std::size_t i = 0; i < right.size(); ++i) {
      Tensors wrong = cloned(right);
      // A tenth of what is added, or of 1.
      Summands summands(*op, in, right);
      wrong[i] += 0.1 * summands.sizes()[i].mean() + 1e-2;
      EXPECT_THROW(op->check(in, wrong, Precision::kFp32), std::runtime_error)
          << case_name(one) << " output " << i;
    }
  }
}

TEST(CancellingResults, OfManySmallTensorsAreAccepted) {
  std::string tensors = "[1]";
  for (int i = 1; i < 3000; ++i) tensors += ", [1]";
  for (const OpType& type : op_types()) {
    if (type.op_class != OpClass::kOptimization) continue;
    const auto op = make_op(type.name, kUpdate, R"({"tensors": [)" + tensors + "]}");
    const Tensors in = op->inputs(3);
    EXPECT_NO_THROW(op->check(in, op->call(cloned(in))(), Precision::kFp32)) << type.name;
    EXPECT_NO_THROW(op->check(in, op->native(cloned(in))(), Precision::kFp32)) << type.name;
  }
}

TEST(Conv2d, MayHaveRareErrorsOfWinogradsTransformsButNoCommonOnes) {
  const auto op = make_op("conv2d", kForward,
                          R"({"n": 2, "c": 8, "k": 8, "image": [16, 16], "kernel": [3, 3]})");
  const Tensors in = op->inputs(3);
  const at::Tensor exact = op->exact(in)[0];
  const double rms = exact.norm().item<double>() / std::sqrt(exact.numel());
  const auto check = [&](const at::Tensor& found) { op->check(in, {found}, Precision::kFp32); };
  at::Tensor rare = exact.clone();
  rare.view(-1)[5] += 5e-4 * rms;
  EXPECT_NO_THROW(check(rare));
  rare.view(-1)[5] += 1;
  EXPECT_THROW(check(rare), std::runtime_error);
  EXPECT_THROW(check(exact + 5e-4 * rms), std::runtime_error);
}

struct Windows {
  const char* fields;
  std::array<int64_t, 2> kernel;
  std::array<int64_t, 2> dilation;
};

TEST(MaxPool, HasNoTiesInAWindowOfItsGradientEvenInBf16) {
  for (const auto& [fields, kernel, dilation] :
       {Windows{R"({"sizes": [4, 8, 31, 29], "kernel": [3, 3], "stride": [2, 2]})", {3, 3}, {1, 1}},
        Windows{R"({"sizes": [4, 8, 30, 30], "kernel": [2, 2]})", {2, 2}, {1, 1}},
        Windows{R"({"sizes": [4, 8, 32, 24], "kernel": [4, 3], "dilation": [2, 3]})",
                {4, 3},
                {2, 3}}}) {
    const at::Tensor x = make_op("max_pool", kBackward, fields)->inputs(3)[0];
    const at::Tensor windows = x.to(at::kBFloat16)
                                   .unfold(2, dilation[0] * (kernel[0] - 1) + 1, 1)
                                   .unfold(3, dilation[1] * (kernel[1] - 1) + 1, 1)
                                   .slice(4, 0, std::nullopt, dilation[0])
                                   .slice(5, 0, std::nullopt, dilation[1])
                                   .reshape({-1, kernel[0] * kernel[1]});
    const at::Tensor sorted = std::get<0>(windows.sort(1));
    EXPECT_FALSE(sorted.slice(1, 1).eq(sorted.slice(1, 0, -1)).any().item<bool>()) << fields;
    EXPECT_NEAR(x.std().item<double>(), 1, 0.2) << fields;
  }
}

TEST(RandomChecks, RefuseAnotherDistribution) {
  constexpr std::string_view kRow = R"({"sizes": [100, 100]})";
  const at::Tensor normal = at::randn({100, 100});
  for (const auto& wrong :
       {normal * 1.1, normal + 0.1, at::zeros({100, 100}), normal.slice(0, 1), normal.abs()})
    EXPECT_THROW(make_op("normal", kForward, kRow)->check({}, {wrong}, Precision::kFp32),
                 std::runtime_error);
  EXPECT_THROW(make_op("uniform", kForward, kRow)->check({}, {normal}, Precision::kFp32),
               std::runtime_error);
  const auto dropout = make_op("dropout", kForward, R"({"sizes": [100, 100], "p": 0.5})");
  for (const double p : {0.0, 0.4, 0.6}) {
    const at::Tensor kept = at::empty_like(normal).uniform_().ge(p);
    EXPECT_THROW(dropout->check({normal}, {normal * 2 * kept}, Precision::kFp32),
                 std::runtime_error);
  }
}

TEST(RandomChecks, RefuseDrawsFromOtherClasses) {
  const auto op = make_op("multinomial", kForward, R"({"rows": 10000, "classes": 6})");
  const Tensors in = op->inputs(3);
  const at::Tensor drawn = op->call(in)()[0];
  const auto refuses = [&](const at::Tensor& wrong) {
    EXPECT_THROW(op->check(in, {wrong}, Precision::kFp32), std::runtime_error);
  };
  EXPECT_NO_THROW(op->check(in, {drawn}, Precision::kFp32));
  refuses(at::randint(6, {10'000, 1}, at::kLong));    // all classes alike
  refuses(in[0].argmax(1, /*keepdim=*/true));         // always the likeliest
  refuses(drawn.roll(1, 0));                          // from the row before
  refuses(at::where(drawn.lt(2), 1 - drawn, drawn));  // classes 0 and 1 exchanged
  refuses(drawn.flatten());
  refuses(drawn.to(at::kInt));
  Tensors other{in[0].clone()};  // the drawn class of a row has the probability 0
  other[0][7][drawn[7][0].item<int64_t>()] = 0;
  EXPECT_THROW(op->check(other, {drawn}, Precision::kFp32), std::runtime_error);
}

TEST(RandomChecks, RefuseCandidatesThatRepeat) {
  const auto op =
      make_op("log_uniform", kForward, R"({"positions": 2, "candidates": 3, "classes": 9})");
  const Tensors drawn = op->call({})();
  drawn[0][1][2].copy_(drawn[0][1][0]);
  EXPECT_THROW(op->check({}, drawn, Precision::kFp32), std::runtime_error);
}

}  // namespace
}  // namespace fathom::ops
