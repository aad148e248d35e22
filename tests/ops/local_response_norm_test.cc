#include "ops/kernels/local_response_norm.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/normalization.h>

#include <cmath>

#include "fixtures/machine/device.h"
#include "ops/kernels/cuda/response_window.h"

namespace fathom::ops {
namespace {

constexpr LocalResponseNormOptions kAlexnet{.size = 5, .alpha = 5e-4, .beta = 0.75, .bias = 2};
constexpr LocalResponseNormOptions kStrong{.size = 3, .alpha = 2, .beta = 0.75, .bias = 1};
constexpr LocalResponseNormOptions kSeven{.size = 7, .alpha = 0.7, .beta = 0.75, .bias = 1};
constexpr LocalResponseNormOptions kOtherPower{.size = 9, .alpha = 0.5, .beta = 0.6, .bias = 1.5};

/// The formula per channel in float64, with gradients from autograd.
at::Tensor reference(const at::Tensor& x, const LocalResponseNormOptions& norm) {
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
  LocalResponseNormOptions norm;
};

// Fewer channels than the window, planes near the width of a CPU tile, channel counts near a GPU
// part, prime sizes.
const Case kCases[] = {
    {{1, 1, 1, 1}, kAlexnet},      {{2, 3, 5, 7}, kAlexnet},  {{1, 96, 9, 7}, kAlexnet},
    {{3, 16, 8, 8}, kStrong},      {{2, 17, 5, 13}, kStrong}, {{1, 13, 11, 12}, kOtherPower},
    {{2, 4, 1, 129}, kOtherPower}, {{1, 9, 16, 16}, kStrong}, {{2, 37, 3, 2}, kOtherPower},
    {{1, 65, 2, 5}, kSeven},       {{0, 5, 4, 4}, kAlexnet}};

const auto kTypes = testing::Values(at::kDouble, at::kFloat, at::kBFloat16);

/// Compares an output and the gradient of x, on any device, with float64.
void expect_exact(const Case& param, const at::Tensor& x, const at::Tensor& g,
                  const at::Tensor& output, const at::Tensor& gradient) {
  const at::Tensor exact_input = x.to(at::kDouble).requires_grad_();
  const at::Tensor expected = reference(exact_input, param.norm);
  expected.backward(g.to(at::kDouble));
  // Relative to the root mean square of the reference.
  const double limit = x.scalar_type() == at::kDouble  ? 1e-13
                       : x.scalar_type() == at::kFloat ? 4e-6
                                                       : 3e-2;
  const auto check = [&](const at::Tensor& found, const at::Tensor& exact) {
    ASSERT_EQ(found.scalar_type(), x.scalar_type());
    ASSERT_EQ(found.sizes(), x.sizes());
    if (x.numel() == 0) return;
    const at::Tensor difference = (found.to(exact.options()) - exact).abs();
    EXPECT_LE((difference.max() / exact.square().mean().sqrt()).item<double>(), limit);
  };
  check(output, expected.detach());
  check(gradient, exact_input.grad());
}

class LocalResponseNormResult
    : public testing::TestWithParam<std::tuple<fixtures::Device, at::ScalarType, Case>> {
 protected:
  void SetUp() override {
    fixtures::unavailable_reason(
        fixtures::Device::kCuda);  // loads the CUDA libraries before seeding
    const std::string& why = fixtures::unavailable_reason(std::get<0>(GetParam()));
    if (!why.empty()) GTEST_SKIP() << why;
    at::manual_seed(1);
  }
};

TEST_P(LocalResponseNormResult, AndGradientAreThoseOfFloat64) {
  const auto& [device, type, param] = GetParam();
  const at::Tensor x = at::randn(param.sizes).to(type);
  const at::Tensor g = at::randn(param.sizes).to(type);
  const at::Tensor input = x.to(fixtures::torch_device(device)).detach().requires_grad_();
  const at::Tensor output = local_response_norm(input, param.norm);
  output.backward(g.to(input.device()));
  expect_exact(param, x, g, output.detach(), input.grad());
}

TEST_P(LocalResponseNormResult, KeepsChannelsLastOnTheCpu) {
  const auto& [device, type, param] = GetParam();
  constexpr auto kLast = at::MemoryFormat::ChannelsLast;
  const at::Tensor x = at::randn(param.sizes).to(type);
  const at::Tensor g = at::randn(param.sizes).to(type);
  const at::Tensor input =
      x.to(fixtures::torch_device(device)).contiguous(kLast).detach().requires_grad_();
  const at::Tensor output = local_response_norm(input, param.norm);
  output.backward(g.to(input.device()));
  expect_exact(param, x, g, output.detach(), input.grad());
  if (device != fixtures::Device::kCpu) return;
  EXPECT_EQ(output.strides(), input.strides());
  EXPECT_EQ(input.grad().strides(), input.strides());
}

INSTANTIATE_TEST_SUITE_P(Shapes, LocalResponseNormResult,
                         testing::Combine(testing::Values(fixtures::Device::kCpu,
                                                          fixtures::Device::kCuda),
                                          kTypes, testing::ValuesIn(kCases)));

/// Runs the code of the GPU's threads one after the other on the CPU.
class GpuWalk : public testing::TestWithParam<std::tuple<at::ScalarType, Case>> {};

TEST_P(GpuWalk, AndGradientAreThoseOfFloat64) {
  const at::ScalarType type = std::get<0>(GetParam());
  const Case& param = std::get<1>(GetParam());
  const LocalResponseNormOptions& norm = param.norm;
  const at::Tensor x = at::randn(param.sizes).to(type);
  const at::Tensor g = at::randn(param.sizes).to(type);
  at::Tensor y = at::full_like(x, NAN);
  at::Tensor dx = at::full_like(x, NAN);
  const Planes shape{x.size(0), x.size(1), x.size(2) * x.size(3)};
  ASSERT_TRUE(has_window(norm.size));
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, type, "GpuWalk", [&] {
    const NormConstants<at::opmath_type<scalar_t>> constants(norm);
    const auto* from = x.const_data_ptr<scalar_t>();
    with_window(norm.size, [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      for (int64_t i = 0; i < part_count(shape); ++i) {
        const Part part = part_at(shape, i);
        normalise<kSize>(shape, part, constants, from, y.mutable_data_ptr<scalar_t>());
        normalise_backward<kSize>(shape, part, constants, from, g.const_data_ptr<scalar_t>(),
                                  dx.mutable_data_ptr<scalar_t>());
      }
    });
  });
  expect_exact(param, x, g, y, dx);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuWalk, testing::Combine(kTypes, testing::ValuesIn(kCases)));

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
