#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include "fixtures/machine/device.h"
#include "ops/backends/vendor.h"
#include "ops/core/check.h"
#include "ops/profiler/flops.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;

// ---- cost

Cost matmul_cost(const FieldRow& row, Precision precision) {
  FieldLoader fields(row);
  return op_type("matmul")->make(fields, Pass::kForward)->cost(precision);
}

const FieldRow kMatmul{{"m", int64_t{2}}, {"n", int64_t{3}}, {"k", int64_t{5}}};

TEST(MatmulCost, CountsTwoFlopsAMultiplyAdd) {
  EXPECT_EQ(matmul_cost(kMatmul, Precision::kFp32).flops, 2 * 2 * 3 * 5);
  EXPECT_EQ(matmul_cost(kMatmul, Precision::kFp32).macs, 2 * 3 * 5);
}

TEST(MatmulCost, ReadsBothFactorsAndTheBiasAndWritesTheProduct) {
  FieldRow row = kMatmul;
  row.emplace_back("bias", true);
  EXPECT_EQ(matmul_cost(row, Precision::kFp32).bytes, 4 * (2 * 5 + 5 * 3 + 2 * 3 + 3));
  EXPECT_EQ(matmul_cost(row, Precision::kBf16).bytes, 2 * (2 * 5 + 5 * 3 + 2 * 3 + 3));
}

struct Convolution {
  int64_t batch, in_channels, out_channels, groups;
  Pair image, kernel, stride, padding, dilation;

  Cost cost() const {
    const FieldRow row{{"n", batch},       {"c", in_channels},   {"k", out_channels},
                       {"groups", groups}, {"image", image},     {"kernel", kernel},
                       {"stride", stride}, {"padding", padding}, {"dilation", dilation}};
    FieldLoader fields(row);
    return op_type("conv2d")->make(fields, Pass::kForward)->cost(Precision::kFp32);
  }
};

/// Counts the taps of every output position that lie inside the image.
double counted_flops(const Convolution& s, const at::Tensor& output) {
  double products = 0;
  for (int64_t y = 0; y < output.size(2); ++y) {
    for (int64_t x = 0; x < output.size(3); ++x) {
      for (int64_t r = 0; r < s.kernel[0]; ++r) {
        for (int64_t c = 0; c < s.kernel[1]; ++c) {
          const int64_t row = y * s.stride[0] - s.padding[0] + r * s.dilation[0];
          const int64_t column = x * s.stride[1] - s.padding[1] + c * s.dilation[1];
          products += row >= 0 && row < s.image[0] && column >= 0 && column < s.image[1] ? 1 : 0;
        }
      }
    }
  }
  return 2 * products * static_cast<double>(s.batch * s.out_channels * s.in_channels) /
         static_cast<double>(s.groups);
}

class Conv2dCost : public testing::TestWithParam<Convolution> {
 protected:
  at::Tensor run() const {
    const auto& s = GetParam();
    return at::conv2d(
        at::ones({s.batch, s.in_channels, s.image[0], s.image[1]}),
        at::ones({s.out_channels, s.in_channels / s.groups, s.kernel[0], s.kernel[1]}), {},
        s.stride, s.padding, s.dilation, s.groups);
  }
};

TEST_P(Conv2dCost, LeavesOutTapsThatFallOnPadding) {
  EXPECT_EQ(GetParam().cost().flops, counted_flops(GetParam(), run()));
}

TEST_P(Conv2dCost, HasMacsThatCountPadding) {
  const auto& s = GetParam();
  const int64_t taps = s.kernel[0] * s.kernel[1] * (s.in_channels / s.groups);
  EXPECT_EQ(s.cost().macs, static_cast<double>(run().numel() * taps));
}

TEST_P(Conv2dCost, IsSeenWhenLibTorchRunsIt) {
  const StepFlops found = count_flops([this] { run(); });
  EXPECT_EQ(found.flops, GetParam().cost().flops);
  EXPECT_EQ(found.macs, GetParam().cost().macs);
}

// Batch, in, out, groups, image, kernel, stride, padding, dilation.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Conv2dCost,
    testing::Values(Convolution{2, 3, 4, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
                    Convolution{1, 4, 6, 2, {11, 13}, {5, 3}, {2, 1}, {2, 0}, {1, 1}},
                    Convolution{1, 1, 1, 1, {1, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
                    Convolution{3, 2, 5, 1, {9, 8}, {3, 2}, {2, 3}, {2, 2}, {2, 3}},
                    Convolution{1, 3, 2, 1, {23, 23}, {11, 11}, {4, 4}, {2, 2}, {1, 1}}));

// ---- FLOPs of calls

TEST(CountFlops, CountsBothGradientsOfAConvolution) {
  const at::Tensor image = at::randn({2, 3, 8, 8}).requires_grad_();
  const at::Tensor weight = at::randn({4, 3, 3, 3}).requires_grad_();
  const StepFlops forward = count_flops([&] { at::conv2d(image, weight, {}, 1, 1); });
  const StepFlops all = count_flops([&] { at::conv2d(image, weight, {}, 1, 1).sum().backward(); });
  EXPECT_EQ(all.flops, 3 * forward.flops);
  EXPECT_EQ(all.macs, forward.macs);
}

TEST(CountFlops, LeavesOutGradientsThatAreNotNeeded) {
  const at::Tensor image = at::randn({2, 3, 8, 8});
  const at::Tensor weight = at::randn({4, 3, 3, 3}).requires_grad_();
  const StepFlops forward = count_flops([&] { at::conv2d(image, weight, {}, 1, 1); });
  const StepFlops all = count_flops([&] { at::conv2d(image, weight, {}, 1, 1).sum().backward(); });
  EXPECT_EQ(all.flops, 2 * forward.flops);
}

TEST(CountFlops, CountsAMatrixProduct) {
  const StepFlops work = count_flops([] { at::mm(at::ones({2, 5}), at::ones({5, 3})); });
  EXPECT_EQ(work.flops, 60);
  EXPECT_EQ(work.macs, 30);
}

TEST(CountFlops, CountsAnLstmLayerAndNamesItsLibrary) {
  constexpr int64_t kPlaces = 6;
  constexpr int64_t kBatch = 2;
  constexpr int64_t kInputs = 5;
  constexpr int64_t kWidth = 3;
  const at::Tensor x = at::randn({kPlaces, kBatch, kInputs}).requires_grad_();
  const std::vector<at::Tensor> weights{at::randn({4 * kWidth, kInputs}).requires_grad_(),
                                        at::randn({4 * kWidth, kWidth}).requires_grad_()};
  const at::Tensor start = at::zeros({1, kBatch, kWidth});
  const auto run = [&] {
    return std::get<0>(at::lstm(x, {start, start}, weights, false, 1, 0, true, false, false)).sum();
  };
  const StepFlops forward = count_flops(run);
  const StepFlops all = count_flops([&] { run().backward(); });
  EXPECT_EQ(forward.macs, kPlaces * kBatch * 4 * kWidth * (kInputs + kWidth));
  EXPECT_EQ(forward.flops, 2 * forward.macs);
  EXPECT_EQ(all.flops, 3 * forward.flops);
  EXPECT_EQ(all.choices, std::set<std::string>{"lstm:onednn"});
}

TEST(CountFlops, CountsAttentionOnceInEachPass) {
  const at::Tensor q = at::randn({2, 3, 5, 4}).requires_grad_();
  const StepFlops found = count_flops([&] {
    at::scaled_dot_product_attention(q, q, q, {}, 0, /*is_causal=*/true).sum().backward();
  });
  EXPECT_EQ(found.flops, 3 * 2 * 2 * 6 * 25 * 4);
  EXPECT_EQ(found.macs, 2 * 6 * 25 * 4);
}

/// A composite counts the same where LibTorch dispatches some, all or none of its products.
TEST(CountFlops, CountsAScopeByItsCostWhateverRunsInside) {
  const at::Tensor memory = at::randn({3, 5, 4});
  const at::Tensor keys = at::randn({3, 5, 2});
  const std::vector<c10::IValue> arguments{memory, keys};
  const StepFlops hidden =
      count_flops([&] { RECORD_USER_SCOPE_WITH_INPUTS("op:additive_attention", arguments); });
  EXPECT_EQ(hidden.flops, 2 * 3 * 5 * (4 + 2));
  const StepFlops executed = count_flops([&] {
    RECORD_USER_SCOPE_WITH_INPUTS("op:additive_attention", arguments);
    at::mm(at::ones({2, 5}), at::ones({5, 3}));
  });
  EXPECT_EQ(executed.flops, hidden.flops);
  EXPECT_TRUE(executed.operators.contains("mm"));
}

TEST(CountFlops, CountsProductsInPlaceAndOfVectors) {
  const at::Tensor a = at::ones({2, 5});
  const at::Tensor b = at::ones({5, 3});
  at::Tensor c = at::ones({2, 3});
  EXPECT_EQ(count_flops([&] { c.addmm_(a, b); }).flops, 60);
  EXPECT_EQ(count_flops([&] { at::addmm_out(c, c, a, b); }).flops, 60);
  EXPECT_EQ(count_flops([&] { c[0].addmv_(b.t(), a[0]); }).flops, 30);
  EXPECT_EQ(count_flops([&] { a[0].dot(b.t()[0]); }).flops, 10);
  EXPECT_EQ(count_flops([&] { c.unsqueeze(0).baddbmm_(a.unsqueeze(0), b.unsqueeze(0)); }).flops,
            60);
}

TEST(CountFlops, NamesProductsThatNoRowHas) {
  const StepFlops volumes = count_flops([] {
    at::conv3d(at::ones({1, 1, 3, 3, 3}), at::ones({1, 1, 2, 2, 2}));
  });
  EXPECT_EQ(volumes.flops, 0);
  EXPECT_EQ(volumes.uncounted, std::set<std::string>{"aten::convolution"});
  // Attention with dropout gives no row, but its products do.
  const at::Tensor q = at::randn({2, 3, 5, 4});
  const StepFlops composed =
      count_flops([&] { at::scaled_dot_product_attention(q, q, q, {}, 0.5); });
  EXPECT_EQ(composed.flops, 2 * 2 * 6 * 25 * 4);
  EXPECT_EQ(composed.uncounted, std::set<std::string>());
}

TEST(CountFlops, EndsWithItsStep) {
  const StepFlops work = count_flops([] {});
  at::mm(at::ones({2, 5}), at::ones({5, 3}));
  EXPECT_EQ(work.flops, 0);
}

// ---- matmul against float64

struct MatmulShape {
  int64_t m, n, k;
  bool transpose_a, transpose_b, bias;
};

struct MatmulCase {
  MatmulShape shape;
  Precision precision;
};

class MatmulResult : public testing::TestWithParam<std::tuple<Backend, MatmulCase>> {};

TEST_P(MatmulResult, IsThatOfFloat64) {
  const auto& [backend, param] = GetParam();
  const auto& [shape, precision] = param;
  if (!is_here(backend, fixtures::Device::kCpu, precision)) {
    GTEST_SKIP() << "built without oneDNN, or it has no fp16 or bf16 on this CPU";
  }
  const FieldRow row{{"m", shape.m},
                     {"n", shape.n},
                     {"k", shape.k},
                     {"transpose_a", shape.transpose_a},
                     {"transpose_b", shape.transpose_b},
                     {"bias", shape.bias}};
  FieldLoader fields(row);
  const auto op = op_type("matmul")->make(fields, Pass::kForward);
  const Tensors inputs = converted(op->inputs(3), scalar_type(precision), at::kCPU);
  const Tensors outputs = is_vendor(backend)
                              ? vendor_results(backend, *op, inputs, precision).outputs
                              : op->call(inputs)();

  // Another formula than the op's own LibTorch call.
  const at::Tensor a =
      shape.transpose_a ? inputs[0].to(at::kDouble).t() : inputs[0].to(at::kDouble);
  const at::Tensor b =
      shape.transpose_b ? inputs[1].to(at::kDouble).t() : inputs[1].to(at::kDouble);
  at::Tensor expected = (a.unsqueeze(2) * b.unsqueeze(0)).sum(1);
  if (shape.bias) expected = expected + inputs[2].to(at::kDouble);
  ASSERT_EQ(outputs[0].sizes(), (std::vector<int64_t>{shape.m, shape.n}));
  const double scale = std::sqrt(static_cast<double>(shape.k + 1));
  const double error = (outputs[0].to(at::kDouble) - expected).abs().max().item<double>();
  EXPECT_LE(error, scale * (precision == Precision::kFp32 ? 1e-5 : tolerance(precision)));
}

std::vector<MatmulCase> matmul_cases() {
  std::vector<MatmulCase> cases;
  for (const auto precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        for (const bool bias : {false, true}) {
          for (const auto& [m, n, k] :
               {std::tuple{1, 1, 1}, {1, 7, 3}, {13, 1, 31}, {17, 23, 1}, {31, 29, 37}}) {
            cases.push_back({{m, n, k, transpose_a, transpose_b, bias}, precision});
          }
        }
      }
    }
  }
  return cases;
}

std::string matmul_case_name(const testing::TestParamInfo<MatmulResult::ParamType>& info) {
  const auto& [backend, param] = info.param;
  const auto& [m, n, k, transpose_a, transpose_b, bias] = param.shape;
  return std::string(name(backend)) + "_" + std::string(name(param.precision)) + "_" +
         std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
         (transpose_a ? "_ta" : "") + (transpose_b ? "_tb" : "") + (bias ? "_bias" : "");
}

INSTANTIATE_TEST_SUITE_P(Shapes, MatmulResult,
                         testing::Combine(testing::Values(Backend::kTorch, Backend::kOneDnn,
                                                          Backend::kTorchPacked),
                                          testing::ValuesIn(matmul_cases())),
                         matmul_case_name);

}  // namespace
}  // namespace fathom::ops
