#include <ATen/Version.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>

#include "fixtures/machine/device.h"

namespace fathom::models {
namespace {

/// A convolution with stride 1 and zero padding on all sides.
struct GroupedConv {
  int64_t groups;
  int64_t padding;
};

/// Output and gradients of a convolution in float64, from plain loops.
struct ConvResult {
  at::Tensor y;
  at::Tensor dx;
  at::Tensor dw;
  at::Tensor db;
};

ConvResult grouped_conv(const GroupedConv& conv, const at::Tensor& x, const at::Tensor& w,
                        const at::Tensor& b, const at::Tensor& g) {
  ConvResult result{at::zeros_like(g), at::zeros_like(x), at::zeros_like(w), at::zeros_like(b)};
  const auto in = x.accessor<double, 4>();
  const auto weight = w.accessor<double, 4>();
  const auto bias = b.accessor<double, 1>();
  const auto gradient = g.accessor<double, 4>();
  auto y = result.y.accessor<double, 4>();
  auto dx = result.dx.accessor<double, 4>();
  auto dw = result.dw.accessor<double, 4>();
  auto db = result.db.accessor<double, 1>();
  const auto each = [](const at::Tensor& t, const auto& visit) {
    for (int64_t n = 0; n < t.size(0); ++n)
      for (int64_t c = 0; c < t.size(1); ++c)
        for (int64_t i = 0; i < t.size(2); ++i)
          for (int64_t j = 0; j < t.size(3); ++j) visit(n, c, i, j);
  };
  each(g, [&](int64_t n, int64_t o, int64_t i, int64_t j) {
    const int64_t first = o / (w.size(0) / conv.groups) * w.size(1);  // channel of the group of o
    y[n][o][i][j] = bias[o];
    db[o] += gradient[n][o][i][j];
    each(w.slice(0, o, o + 1), [&](int64_t, int64_t c, int64_t r, int64_t s) {
      const int64_t row = i + r - conv.padding;
      const int64_t column = j + s - conv.padding;
      if (row < 0 || row >= x.size(2) || column < 0 || column >= x.size(3)) return;
      y[n][o][i][j] += weight[o][c][r][s] * in[n][first + c][row][column];
      dx[n][first + c][row][column] += weight[o][c][r][s] * gradient[n][o][i][j];
      dw[o][c][r][s] += in[n][first + c][row][column] * gradient[n][o][i][j];
    });
  });
  return result;
}

class GroupedConvolution
    : public testing::TestWithParam<std::tuple<fixtures::Device, at::ScalarType>> {
 protected:
  void SetUp() override {
    fixtures::unavailable_reason(
        fixtures::Device::kCuda);  // loads the CUDA libraries before the first convolution
    const std::string& why = fixtures::unavailable_reason(std::get<0>(GetParam()));
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

/// The second convolution of the small alexnet.
TEST_P(GroupedConvolution, IsThatOfFloat64WithItsGradients) {
  const auto [device, type] = GetParam();
  fixtures::allow_tf32(false);
  const GroupedConv conv{.groups = 2, .padding = 2};
  torch::nn::Conv2d layer(
      torch::nn::Conv2dOptions(6, 16, 5).padding(conv.padding).groups(conv.groups));
  layer->to(fixtures::torch_device(device), type);
  const auto options = layer->weight.options().requires_grad(false);
  const at::Tensor x = at::randn({3, 6, 7, 7}).to(options).requires_grad_();
  const at::Tensor g = at::randn({3, 16, 7, 7}).to(options);
  const at::Tensor y = layer->forward(x);
  y.backward(g);

  const auto exact = [](const at::Tensor& t) {
    return t.detach().to(at::TensorOptions(at::kDouble).device(at::kCPU));
  };
  const ConvResult expected =
      grouped_conv(conv, exact(x), exact(layer->weight), exact(layer->bias), exact(g));
  // On a CPU without AVX-512 LibTorch's bf16 has an error of 3.8e-2.
  const bool coarse = device == fixtures::Device::kCpu && at::get_cpu_capability() == "AVX2";
  const double limit = type == at::kFloat ? 1e-5 : coarse ? 5e-2 : 3e-2;
  const auto check = [&](const at::Tensor& found, const at::Tensor& reference) {
    const double scale = reference.square().mean().sqrt().item<double>();
    EXPECT_LE((exact(found) - reference).abs().max().item<double>(), limit * scale);
  };
  check(y, expected.y);
  check(x.grad(), expected.dx);
  check(layer->weight.grad(), expected.dw);
  check(layer->bias.grad(), expected.db);
}

INSTANTIATE_TEST_SUITE_P(Devices, GroupedConvolution,
                         testing::Combine(testing::Values(fixtures::Device::kCpu,
                                                          fixtures::Device::kCuda),
                                          testing::Values(at::kFloat, at::kBFloat16)));

}  // namespace
}  // namespace fathom::models
