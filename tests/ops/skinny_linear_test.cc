#include "ops/kernels/skinny_linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <utility>

#include "fixtures/machine/device.h"

namespace fathom::ops {
namespace {

/// Largest error in units of the largest element of the result in float64.
double error(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  const auto exact = [](const at::Tensor& tensor) { return tensor.to(at::kDouble); };
  const at::Tensor expected =
      at::linear(exact(x), exact(weight), bias ? std::optional(exact(*bias)) : std::nullopt);
  const at::Tensor found = skinny_linear(x, weight, bias);
  EXPECT_EQ(found.scalar_type(), x.scalar_type());
  EXPECT_EQ(found.sizes(), expected.sizes());
  return ((exact(found) - expected).abs().max() / expected.abs().max()).item<double>();
}

/// Widths below a vector, of whole vectors, with a remainder, and beyond the L1 cache.
TEST(SkinnyLinear, IsALinearLayerOfAnyFewRows) {
  at::manual_seed(3);
  for (const int threads : {1, 2}) {
    fixtures::set_threads(threads);
    for (int64_t rows = 1; rows <= kMaxSkinnyRows; ++rows) {
      for (const int64_t inputs : {1, 64, 333, 9999}) {
        const at::Tensor x = at::randn({rows, inputs});
        const at::Tensor weight = at::randn({257, inputs});
        EXPECT_LT(error(x, weight, std::nullopt), 1e-6) << rows << " x " << inputs;
        EXPECT_LT(error(x, weight, at::randn({257})), 1e-6) << rows << " x " << inputs;
      }
    }
  }
}

TEST(SkinnyLinear, SumsSixteenBitsInFloat) {
  at::manual_seed(3);
  // 2^-8 and 2^-11: the result's rounding.
  for (const auto& [type, limit] :
       {std::pair{at::kBFloat16, 0.004}, std::pair{at::kHalf, 0.0005}}) {
    for (const int64_t inputs : {333, 9999}) {
      const at::Tensor x = at::randn({5, inputs}).to(type);
      const at::Tensor weight = at::randn({29, inputs}).to(type);
      EXPECT_LT(error(x, weight, at::randn({29}).to(type)), limit) << type;
    }
  }
}

TEST(SkinnyLinear, ReadsEveryHalf) {
  const at::Tensor all = at::arange(1 << 16, at::kInt).to(at::kUInt16).view(at::kHalf).unsqueeze(1);
  // A width of whole vectors, with one weight that counts.
  at::Tensor weight = at::zeros({1 << 16, 16}, at::kHalf);
  weight.select(1, 0).copy_(all.squeeze(1));
  at::Tensor x = at::zeros({1, 16}, at::kHalf);
  x[0][0] = 1;
  const at::Tensor found = skinny_linear(x, weight, std::nullopt).t();
  EXPECT_TRUE(at::allclose(found, all, /*rtol=*/0, /*atol=*/0, /*equal_nan=*/true));
}

TEST(SkinnyLinear, TakesOtherLayoutsAndOtherNumbersOfRows) {
  at::manual_seed(3);
  const at::Tensor weight = at::randn({40, 13}).t();
  EXPECT_LT(error(at::randn({40, 3}).t(), weight, std::nullopt), 1e-6);
  EXPECT_LT(error(at::randn({kMaxSkinnyRows + 1, 40}), weight, std::nullopt), 1e-6);
  EXPECT_EQ(skinny_linear(at::randn({0, 40}), weight, std::nullopt).sizes(),
            at::IntArrayRef({0, 13}));
}

}  // namespace
}  // namespace fathom::ops
