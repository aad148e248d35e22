#include "ops/rmsprop.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fixtures/device.h"

namespace fathom::ops {
namespace {

constexpr RmsProp kOptions{.rate = 2.5e-4, .decay = 0.95, .epsilon = 0.01};

/// Three updates in plain loops over doubles.
struct Reference {
  std::vector<double> p;
  std::vector<double> mean_square;

  void update(const at::Tensor& gradient) {
    const at::Tensor g = gradient.to(at::kDouble).contiguous();
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double slope = g.const_data_ptr<double>()[i];
      mean_square[i] = kOptions.decay * mean_square[i] + (1 - kOptions.decay) * slope * slope;
      p[i] -= kOptions.rate * slope / std::sqrt(mean_square[i] + kOptions.epsilon);
    }
  }
};

class RmsPropOf : public testing::TestWithParam<at::ScalarType> {};

INSTANTIATE_TEST_SUITE_P(Types, RmsPropOf, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& type) { return std::string(toString(type.param)); });

TEST_P(RmsPropOf, AgreesWithPlainLoopsInFloat64) {
  at::manual_seed(1);
  for (const int64_t count : {1, 7, 1000, 100'003}) {
    for (const int threads : {1, 2}) {
      fixtures::set_threads(threads);
      const at::Tensor p = at::randn({count}, GetParam());
      const at::Tensor square = at::ones_like(p);
      const at::Tensor start = p.to(at::kDouble);
      Reference reference{{start.const_data_ptr<double>(), start.const_data_ptr<double>() + count},
                          std::vector<double>(static_cast<std::size_t>(count), 1)};
      for (int step = 0; step < 3; ++step) {
        const at::Tensor g = at::randn({count}, GetParam());
        reference.update(g);
        rmsprop({p}, {g}, {square}, kOptions);
      }
      const double tolerance = GetParam() == at::kFloat ? 1e-6 : 1e-14;
      for (int64_t i = 0; i < count; i += 1 + count / 50) {
        const auto at = static_cast<std::size_t>(i);
        EXPECT_NEAR(p[i].item<double>(), reference.p[at], tolerance);
        EXPECT_NEAR(square[i].item<double>(), reference.mean_square[at], tolerance);
      }
    }
  }
}

TEST(RmsProp, OnCudaAgreesWithTheCpu) {
  if (!fixtures::absence(fixtures::Device::kCuda).empty()) {
    GTEST_SKIP() << fixtures::absence(fixtures::Device::kCuda);
  }
  at::manual_seed(1);
  const at::Tensor p = at::randn({100'003});
  const at::Tensor g = at::randn({100'003});
  const at::Tensor square = at::ones_like(p);
  const at::Device cuda = fixtures::torch_device(fixtures::Device::kCuda);
  const at::Tensor p_there = p.to(cuda);
  const at::Tensor square_there = square.to(cuda);
  rmsprop({p}, {g}, {square}, kOptions);
  rmsprop({p_there}, {g.to(cuda)}, {square_there}, kOptions);
  EXPECT_TRUE(at::allclose(p_there.cpu(), p, 1e-6, 1e-7));
  EXPECT_TRUE(at::allclose(square_there.cpu(), square, 1e-6, 1e-7));
}

TEST(RmsProp, RootsAfterAddingEpsilon) {
  // g = 1e-3 from a mean square of 1: LibTorch's form would move by 2.6e-7 in its first step.
  const at::Tensor p = at::zeros({1}, at::kDouble);
  rmsprop({p}, {at::full({1}, 1e-3, at::kDouble)}, {at::ones({1}, at::kDouble)}, kOptions);
  EXPECT_NEAR(p.item<double>(), -2.5e-7 / std::sqrt(0.95 + 0.05e-6 + 0.01), 1e-15);
}

TEST(RmsProp, RefusesTensorsThatDoNotMatch) {
  const at::Tensor p = at::zeros({4});
  EXPECT_THROW(rmsprop({p}, {at::zeros({5})}, {at::ones({4})}, kOptions), c10::Error);
  EXPECT_THROW(rmsprop({p}, {at::zeros({8}).slice(0, 0, 8, 2)}, {at::ones({4})}, kOptions),
               c10::Error);
}

}  // namespace
}  // namespace fathom::ops
