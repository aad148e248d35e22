#include "ops/kernels/fused_clip.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>

#include <cmath>
#include <limits>

#include "fixtures/machine/device.h"
#include "tests/ops/tensor_lists.h"

namespace fathom::ops {
namespace {

double norm(const List& tensors) {
  List flat;
  for (const auto& tensor : tensors) flat.push_back(tensor.flatten().to(at::kDouble));
  return at::cat(flat).norm().item<double>();
}

/// The result of LibTorch's clip_grad_norm_.
List theirs(const List& gradients, double largest) {
  List parameters;
  for (const auto& gradient : gradients) {
    parameters.push_back(gradient.clone());
    parameters.back().mutable_grad() = gradient.clone();
  }
  torch::nn::utils::clip_grad_norm_(parameters, largest);
  List clipped;
  for (const auto& parameter : parameters) clipped.push_back(parameter.grad());
  return clipped;
}

class FusedClip : public testing::Test {
 protected:
  void SetUp() override {
    fixtures::set_threads(1);
    at::manual_seed(1);
  }
};

TEST_F(FusedClip, AgreesWithLibTorchsOnFloat64) {
  const struct {
    at::ScalarType type;
    double tolerance;  // relative
  } types[] = {{at::kDouble, 1e-13}, {at::kFloat, 3e-7}, {at::kBFloat16, 4e-3}};
  for (const auto& [type, tolerance] : types) {
    for (const int threads : {1, 2}) {
      fixtures::set_threads(threads);
      const List gradients = converted(
          {at::randn({1}), at::randn({63}), at::randn({0}), at::randn({1'000'003})}, type);
      const List exact = theirs(converted(gradients, at::kDouble), 5);
      fused_clip(gradients, 5);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        EXPECT_TRUE(at::allclose(gradients[i].to(at::kDouble), exact[i], tolerance, 0))
            << toString(type) << " tensor " << i;
      }
    }
  }
}

TEST_F(FusedClip, ScalesTheNormToTheLimit) {
  const List gradients{at::randn({300}), at::randn({7, 11})};
  fused_clip(gradients, 0.5);
  EXPECT_NEAR(norm(gradients), 0.5, 1e-6);
}

TEST_F(FusedClip, DoesNotChangeGradientsBelowTheLimit) {
  const List gradients{at::randn({300})};
  const List before = converted(gradients, at::kFloat);
  fused_clip(gradients, 100);
  EXPECT_TRUE(gradients[0].equal(before[0]));
}

TEST_F(FusedClip, SumsMillionsOfSquaresWithoutLoss) {
  // A sequential sum in float would stop at 2^24.
  const List gradients{at::full({1 << 25}, 1.0F)};
  fused_clip(gradients, 1);
  EXPECT_NEAR(gradients[0][0].item<double>(), 1 / std::sqrt(double{1 << 25}), 1e-10);
}

TEST_F(FusedClip, PropagatesNan) {
  const List gradients{at::full({2}, 1.0F), at::full({1}, std::numeric_limits<float>::quiet_NaN())};
  fused_clip(gradients, 1);
  EXPECT_TRUE(gradients[0].isnan().all().item<bool>());
}

TEST_F(FusedClip, OnCudaAgreesWithTheCpu) {
  if (const auto& why = fixtures::unavailable_reason(fixtures::Device::kCuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const at::Device cuda = fixtures::torch_device(fixtures::Device::kCuda);
  const List here = tensors_of_all_sizes();
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const List mine = converted(here, type);
    const List there = converted(here, type, cuda);
    fused_clip(mine, 5);
    fused_clip(there, 5);
    expect_alike(there, mine, 0);
  }
}

TEST_F(FusedClip, RefusesTensorsThatDoNotMatch) {
  const at::Tensor g = at::zeros({4});
  EXPECT_THROW(fused_clip({g, at::zeros({4}, at::kDouble)}, 1), c10::Error);
  EXPECT_THROW(fused_clip({g, at::zeros({8}).slice(0, 0, 8, 2)}, 1), c10::Error);
  EXPECT_THROW(fused_clip({at::zeros({4}, at::kLong)}, 1), c10::Error);
  fused_clip({}, 1);
}

}  // namespace
}  // namespace fathom::ops
