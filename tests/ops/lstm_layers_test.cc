#include "ops/kernels/recurrent/lstm_layers.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fixtures/machine/device.h"

namespace fathom::ops {
namespace {

constexpr int64_t kSteps = 5;
constexpr int64_t kSamples = 3;
constexpr int64_t kWidth = 8;
constexpr int64_t kLayers = 2;

std::vector<at::Tensor> random_weights(bool biases, at::Device device) {
  std::vector<at::Tensor> weights;
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    for (int i = 0; i < 2; ++i) weights.push_back(at::randn({4 * kWidth, kWidth}) * 0.3);
    for (int i = 0; i < 2 && biases; ++i) weights.push_back(at::randn({4 * kWidth}));
  }
  for (auto& weight : weights) weight = weight.to(device).requires_grad_();
  return weights;
}

TEST(LstmLayers, AreThoseOfAtenOnTheCpuOverTheSameMemory) {
  fixtures::unavailable_reason(
      fixtures::Device::kCuda);  // loads the CUDA libraries before LibTorch's hooks
  const at::Tensor x = at::randn({kSteps, kSamples, kWidth});
  const at::Tensor start = at::zeros({kLayers, kSamples, kWidth});
  for (const bool biases : {false, true}) {
    const auto weights = random_weights(biases, at::kCPU);
    const void* const memory = weights[0].const_data_ptr();
    const auto found = lstm(x, start, start, weights, biases, /*train=*/true);
    const auto expected =
        at::lstm(x, {start, start}, weights, biases, kLayers, /*dropout=*/0, /*train=*/true,
                 /*bidirectional=*/false, /*batch_first=*/false);
    EXPECT_TRUE(std::get<0>(found).equal(std::get<0>(expected)));
    EXPECT_TRUE(std::get<1>(found).equal(std::get<1>(expected)));
    EXPECT_TRUE(std::get<2>(found).equal(std::get<2>(expected)));
    EXPECT_EQ(weights[0].const_data_ptr(), memory);
  }
}

/// Collects LibTorch's warnings, of which it has one for weights in several buffers.
class Warnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { all_ += warning.msg(); }
  const std::string& all() const { return all_; }

 private:
  std::string all_;
};

TEST(LstmLayers, OnAGpuHaveOneBufferAndAutocastsType) {
  if (const auto& why = fixtures::unavailable_reason(fixtures::Device::kCuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  Warnings warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  const at::Device gpu = fixtures::torch_device(fixtures::Device::kCuda);
  const at::Tensor x = at::randn({kSteps, kSamples, kWidth}).to(gpu);
  const at::Tensor start = at::zeros({kLayers, kSamples, kWidth}).to(gpu);
  for (const bool biases : {false, true}) {
    const auto weights = random_weights(biases, gpu);
    std::vector<at::Tensor> before;
    for (const auto& weight : weights) before.push_back(weight.detach().clone());
    const auto exact = std::get<0>(lstm(x, start, start, weights, biases, /*train=*/true));
    exact.sum().backward();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_TRUE(weights[i].equal(before[i]));
      EXPECT_TRUE(weights[i].grad().defined());
      EXPECT_EQ(weights[i].storage().data(), weights[0].storage().data());
      weights[i].mutable_grad().reset();
    }
    at::autocast::set_autocast_enabled(at::kCUDA, true);
    at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
    const auto rounded = std::get<0>(lstm(x, start, start, weights, biases, /*train=*/true));
    at::autocast::set_autocast_enabled(at::kCUDA, false);
    EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::allclose(rounded.to(at::kFloat), exact, /*rtol=*/0.03, /*atol=*/0.03));
    rounded.sum().backward();
    for (const auto& weight : weights) EXPECT_EQ(weight.grad().scalar_type(), at::kFloat);
  }
  EXPECT_EQ(warnings.all(), "");
}

}  // namespace
}  // namespace fathom::ops
