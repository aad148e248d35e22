#include "ops/local_response_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/normalization.h>

#include "fixtures/device.h"

namespace fathom::ops {
namespace {

constexpr LocalResponseNorm kAlexnet{.size = 5, .alpha = 5e-4, .beta = 0.75, .bias = 2};
constexpr LocalResponseNorm kStrong{.size = 3, .alpha = 2, .beta = 0.75, .bias = 1};
constexpr LocalResponseNorm kOtherPower{.size = 9, .alpha = 0.5, .beta = 0.6, .bias = 1.5};

/// The formula, channel by channel, in float64 and with autograd's gradient.
at::Tensor reference(const at::Tensor& x, const LocalResponseNorm& norm) {
  const at::Tensor squares = x * x;
  std::vector<at::Tensor> channels;
  for (int64_t c = 0; c < x.size(1); ++c) {
    const int64_t first = std::max<int64_t>(c - norm.size / 2, 0);
    const int64_t last = std::min(c + norm.size / 2, x.size(1) - 1);
    const at::Tensor sum = squares.slice(1, first, last + 1).sum(1, /*keepdim=*/true);
    const at::Tensor scale = sum * (norm.alpha / static_cast<double>(norm.size)) + norm.bias;
    channels.push_back(x.slice(1, c, c + 1) * at::pow(scale, -norm.beta));
  }
  return at::cat(channels, 1);
}

struct Case {
  std::vector<int64_t> sizes;
  LocalResponseNorm norm;
};

class LocalResponseNormResult : public testing::TestWithParam<std::tuple<at::ScalarType, Case>> {
 protected:
  void SetUp() override { at::manual_seed(1); }

  /// Largest difference, in units of the reference's root mean square.
  static double error(const at::Tensor& found, const at::Tensor& expected) {
    const at::Tensor difference = (found.to(at::kDouble) - expected).abs();
    return (difference.max() / expected.square().mean().sqrt()).item<double>();
  }
  static double tolerance(at::ScalarType type) {
    return type == at::kDouble ? 1e-13 : type == at::kFloat ? 2e-6 : 3e-2;
  }
};

TEST_P(LocalResponseNormResult, AndGradientAreThoseOfFloat64) {
  const auto& [type, param] = GetParam();
  const at::Tensor x = at::randn(param.sizes).to(type);
  const at::Tensor g = at::randn(param.sizes).to(type);
  const at::Tensor input = x.clone().requires_grad_();
  const at::Tensor output = local_response_norm(input, param.norm);
  output.backward(g);

  const at::Tensor exact_input = x.to(at::kDouble).requires_grad_();
  const at::Tensor expected = reference(exact_input, param.norm);
  expected.backward(g.to(at::kDouble));
  EXPECT_EQ(output.scalar_type(), type);
  EXPECT_LE(error(output, expected.detach()), tolerance(type));
  EXPECT_LE(error(input.grad(), exact_input.grad()), tolerance(type));
}

// Fewer channels than the window, planes around the width of a tile, primes.
INSTANTIATE_TEST_SUITE_P(
    Shapes, LocalResponseNormResult,
    testing::Combine(testing::Values(at::kDouble, at::kFloat, at::kBFloat16),
                     testing::Values(Case{{1, 1, 1, 1}, kAlexnet}, Case{{2, 3, 5, 7}, kAlexnet},
                                     Case{{1, 96, 9, 7}, kAlexnet}, Case{{3, 16, 8, 8}, kStrong},
                                     Case{{2, 17, 5, 13}, kStrong},
                                     Case{{1, 13, 11, 12}, kOtherPower},
                                     Case{{2, 4, 1, 129}, kOtherPower},
                                     Case{{1, 9, 16, 16}, kStrong})));

TEST(LocalResponseNorm, AgreesWithLibTorchsComposite) {
  const at::Tensor x = at::randn({2, 24, 9, 9});
  const auto options = torch::nn::functional::LocalResponseNormFuncOptions(kAlexnet.size)
                           .alpha(kAlexnet.alpha)
                           .beta(kAlexnet.beta)
                           .k(kAlexnet.bias);
  const at::Tensor composite = torch::nn::functional::local_response_norm(x, options);
  EXPECT_TRUE(at::allclose(local_response_norm(x, kAlexnet), composite, 1e-5, 1e-6));
}

TEST(LocalResponseNorm, IsTheSameWithAnyNumberOfThreads) {
  const at::Tensor x = at::randn({3, 24, 13, 13});
  fixtures::set_threads(1);
  const at::Tensor one = local_response_norm(x, kAlexnet);
  fixtures::set_threads(2);
  EXPECT_TRUE(at::equal(local_response_norm(x, kAlexnet), one));
}

TEST(LocalResponseNorm, ReadsStridedInputs) {
  const at::Tensor x = at::randn({2, 9, 7, 8});
  const at::Tensor turned = x.transpose(1, 3);
  EXPECT_TRUE(at::equal(local_response_norm(turned, kStrong),
                        local_response_norm(turned.contiguous(), kStrong)));
}

TEST(LocalResponseNorm, RefusesAnEvenWindow) {
  EXPECT_THROW(local_response_norm(at::randn({1, 2, 3, 3}), {4, 1, 1, 1}), c10::Error);
}

}  // namespace
}  // namespace fathom::ops
