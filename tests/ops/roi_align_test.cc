#include "ops/kernels/detection/roi_align.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "fixtures/machine/device.h"
#include "ops/kernels/cuda/roi_align_bin.h"
#include "tests/ops/gradients.h"

namespace fathom::ops {
namespace {

/// One pixel that a bin reads.
struct Weight {
  int64_t region, image, bin_row, bin_column, row, column;
  double value;
};

/// Adds to `all` the weights of the four pixels around a point; none outside.
void add_sample(double y, double x, double share, at::IntArrayRef sizes, Weight place,
                std::vector<Weight>& all) {
  if (y < -1 || y > static_cast<double>(sizes[2]) || x < -1 || x > static_cast<double>(sizes[3]))
    return;
  y = std::clamp(y, 0.0, static_cast<double>(sizes[2] - 1));
  x = std::clamp(x, 0.0, static_cast<double>(sizes[3] - 1));
  for (const double row : {std::floor(y), std::floor(y) + 1}) {
    for (const double column : {std::floor(x), std::floor(x) + 1}) {
      const double weight = (1 - std::abs(y - row)) * (1 - std::abs(x - column));
      if (weight == 0) continue;
      place.row = static_cast<int64_t>(row);
      place.column = static_cast<int64_t>(column);
      place.value = weight * share;
      all.push_back(place);
    }
  }
}

std::vector<Weight> all_weights(const at::Tensor& regions, at::IntArrayRef sizes,
                                const RoiAlignOptions& align) {
  std::vector<Weight> all;
  const auto samples = static_cast<double>(align.samples);
  for (int64_t r = 0; r < regions.size(0); ++r) {
    const auto corner = [&](int64_t i) { return regions[r][i].item<double>() * align.scale; };
    const double left = corner(1);
    const double top = corner(2);
    const double width = std::max(corner(3) - left, 1.0) / static_cast<double>(align.width);
    const double height = std::max(corner(4) - top, 1.0) / static_cast<double>(align.height);
    const auto image = regions[r][0].item<int64_t>();
    for (int64_t row = 0; row < align.height * align.samples; ++row) {
      for (int64_t column = 0; column < align.width * align.samples; ++column) {
        add_sample(top + (static_cast<double>(row) + 0.5) / samples * height,
                   left + (static_cast<double>(column) + 0.5) / samples * width,
                   1 / samples / samples, sizes,
                   {r, image, row / align.samples, column / align.samples, 0, 0, 0}, all);
      }
    }
  }
  return all;
}

/// The result in plain loops.
at::Tensor reference(const at::Tensor& features, const at::Tensor& regions,
                     const RoiAlignOptions& align) {
  at::Tensor y =
      at::zeros({regions.size(0), features.size(1), align.height, align.width}, at::kDouble);
  auto to = y.accessor<double, 4>();
  const at::Tensor exact = features.to(at::kDouble);
  const auto from = exact.accessor<double, 4>();
  for (const Weight& w : all_weights(regions, features.sizes(), align)) {
    for (int64_t c = 0; c < features.size(1); ++c)
      to[w.region][c][w.bin_row][w.bin_column] += w.value * from[w.image][c][w.row][w.column];
  }
  return y;
}

at::Tensor reference_gradient(const at::Tensor& g, const at::Tensor& regions, at::IntArrayRef sizes,
                              const RoiAlignOptions& align) {
  at::Tensor dx = at::zeros(sizes, at::kDouble);
  auto to = dx.accessor<double, 4>();
  const at::Tensor exact = g.to(at::kDouble);
  const auto from = exact.accessor<double, 4>();
  for (const Weight& w : all_weights(regions, sizes, align)) {
    for (int64_t c = 0; c < sizes[1]; ++c)
      to[w.image][c][w.row][w.column] += w.value * from[w.region][c][w.bin_row][w.bin_column];
  }
  return dx;
}

/// Regions with corners between -10 % and 110 % of the image, some of them reversed.
at::Tensor random_regions(int64_t count, at::IntArrayRef sizes, double scale) {
  const at::Tensor image = at::randint(sizes[0], {count, 1}).to(at::kFloat);
  const at::Tensor corners = at::rand({count, 4}) * 1.2 - 0.1;
  const auto width = static_cast<float>(static_cast<double>(sizes[3]) / scale);
  const auto height = static_cast<float>(static_cast<double>(sizes[2]) / scale);
  return at::cat({image, corners * at::tensor({width, height, width, height})}, 1);
}

/// Regions of an image of 9 x 7 pixels at a scale of 1/16. No sample is so near the border of the
/// image that rounding decides whether it is outside.
at::Tensor edge_regions() {
  return at::tensor({0.F, 0.F,    0.F,    111.F, 143.F,   // the whole image
                     0.F, -50.F,  -50.F,  -20.F, -20.F,   // outside, above on the left
                     0.F, 200.F,  30.F,   260.F, 90.F,    // outside on the right
                     0.F, -70.F,  20.F,   60.F,  300.F,   // larger than the image
                     0.F, 40.F,   40.F,   41.F,  40.5F,   // smaller than a pixel
                     0.F, 40.F,   40.F,   40.F,  40.F,    // empty
                     0.F, 80.F,   80.F,   20.F,  30.F,    // reversed
                     0.F, 90.F,   128.F,  112.F, 144.F,   // the last pixel
                     0.F, -13.F,  -13.F,  3.F,   3.F,     // the first pixel
                     0.F, -300.F, -300.F, 300.F, 300.F,   // few samples in the image
                     0.F, 31.F,   17.F,   33.F,  140.F})  // narrow
      .view({-1, 5});
}

struct Case {
  std::vector<int64_t> sizes;
  int64_t regions;  ///< random ones; 0 for those at the edges
  RoiAlignOptions align;
};

// Channels below, at and above a block of the CPU, one pixel, one bin, many samples.
const Case kCases[] = {
    {{1, 3, 9, 7}, 0, {4, 3, 1.0 / 16, 2}}, {{1, 33, 9, 7}, 0, {7, 6, 1.0 / 16, 2}},
    {{2, 32, 9, 7}, 19, {7, 7, 0.25, 2}},   {{3, 70, 5, 8}, 11, {2, 5, 1, 3}},
    {{2, 1, 1, 1}, 5, {3, 3, 0.5, 1}},      {{1, 4, 1, 13}, 7, {1, 1, 1, 4}},
    {{2, 3, 11, 1}, 7, {5, 2, 2, 2}}};

const auto kTypes = testing::Values(at::kDouble, at::kFloat, at::kBFloat16);

at::Tensor regions_of(const Case& one) {
  return one.regions == 0 ? edge_regions()
                          : random_regions(one.regions, one.sizes, one.align.scale);
}

/// Compares with a float64 result, relative to its root mean square.
void expect_near(const at::Tensor& found, const at::Tensor& exact, at::ScalarType type) {
  ASSERT_EQ(found.sizes(), exact.sizes());
  EXPECT_EQ(found.scalar_type(), type);
  const double limit = type == at::kDouble ? 1e-12 : type == at::kFloat ? 3e-5 : 3e-2;
  const at::Tensor difference = (found.to(exact.options()) - exact).abs();
  EXPECT_LE((difference.max() / exact.square().mean().sqrt()).item<double>(), limit);
}

class RoiAlignResult
    : public testing::TestWithParam<std::tuple<fixtures::Device, at::ScalarType, Case>> {
 protected:
  void SetUp() override {
    fixtures::unavailable_reason(fixtures::Device::kCuda);  // loads the libraries before seeding
    const std::string& why = fixtures::unavailable_reason(std::get<0>(GetParam()));
    if (!why.empty()) GTEST_SKIP() << why;
    at::manual_seed(1);
  }
};

// Regions are float where features are, or double positions would differ from float ones.
TEST_P(RoiAlignResult, AndGradientAreThoseOfPlainLoops) {
  const auto& [device, type, param] = GetParam();
  const at::Tensor x = at::randn(param.sizes).to(type);
  const at::Tensor regions = regions_of(param);
  const auto on_device = fixtures::torch_device(device);
  const at::Tensor input = x.to(on_device).detach().requires_grad_();
  const at::Tensor y = roi_align(input, regions.to(on_device), param.align);
  expect_near(y.detach(), reference(x, regions, param.align), type);
  const at::Tensor g = at::randn(y.sizes()).to(type);
  y.backward(g.to(on_device));
  expect_near(input.grad(), reference_gradient(g, regions, param.sizes, param.align), type);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RoiAlignResult,
                         testing::Combine(testing::Values(fixtures::Device::kCpu,
                                                          fixtures::Device::kCuda),
                                          kTypes, testing::ValuesIn(kCases)));

/// Runs the code of the GPU's threads one after the other on the CPU.
class RoiAlignGpuWalk : public testing::TestWithParam<std::tuple<at::ScalarType, Case>> {};

TEST_P(RoiAlignGpuWalk, AndGradientAreThoseOfPlainLoops) {
  const at::ScalarType type = std::get<0>(GetParam());
  const Case& param = std::get<1>(GetParam());
  at::manual_seed(1);
  const at::Tensor x = at::randn(param.sizes).to(type);
  const at::Tensor regions = regions_of(param);
  const RoiAlignShape shape{.align = param.align,
                            .images = x.size(0),
                            .channels = x.size(1),
                            .rows = x.size(2),
                            .columns = x.size(3),
                            .regions = regions.size(0)};
  const at::Tensor exact = reference(x, regions, param.align);
  const at::Tensor g = at::randn(exact.sizes()).to(type);
  at::Tensor y = at::full_like(g, NAN);
  at::Tensor dx = at::zeros(param.sizes, type == at::kDouble ? at::kDouble : at::kFloat);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, type, "RoiAlignGpuWalk", [&] {
    using Sum = at::opmath_type<scalar_t>;
    const at::Tensor boxes = regions.to(dx.scalar_type());
    for (int64_t i = 0; i < bin_count(shape); ++i) {
      align_bin(shape, x.const_data_ptr<scalar_t>(), boxes.const_data_ptr<Sum>(), i,
                y.mutable_data_ptr<scalar_t>());
      align_bin_backward(
          shape, g.const_data_ptr<scalar_t>(), boxes.const_data_ptr<Sum>(), i,
          [&](int64_t pixel, Sum summand) { dx.mutable_data_ptr<Sum>()[pixel] += summand; });
    }
  });
  expect_near(y, exact, type);
  expect_near(dx.to(type), reference_gradient(g, regions, param.sizes, param.align), type);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RoiAlignGpuWalk,
                         testing::Combine(kTypes, testing::ValuesIn(kCases)));

constexpr RoiAlignOptions kSmall{.height = 3, .width = 2, .scale = 0.25, .samples = 2};

TEST(RoiAlign, HasTheGradientOfCentralDifferences) {
  at::manual_seed(2);
  tests::Inputs inputs;
  const at::Tensor x = inputs.given("x", {2, 3, 6, 5});
  const at::Tensor regions = random_regions(7, x.sizes(), kSmall.scale).to(at::kDouble);
  const at::Tensor weights = at::randn({7, 3, 3, 2}, at::kDouble);
  tests::expect_gradients(
      inputs.tensors, [&] { return (roi_align(x, regions, kSmall) * weights).sum(); },
      [&] { return (reference(x, regions, kSmall) * weights).sum().item<double>(); }, 200);
}

TEST(RoiAlign, AgreesWithTheComposite) {
  at::manual_seed(3);
  for (const Case& one : kCases) {
    const at::Tensor x = at::randn(one.sizes, at::kDouble).requires_grad_();
    const at::Tensor regions = regions_of(one).to(at::kDouble);
    const at::Tensor found = roi_align(x, regions, one.align);
    const at::Tensor composed = composed_roi_align(x, regions, one.align);
    EXPECT_TRUE(at::allclose(found, composed, 1e-6, 1e-9));
    const at::Tensor g = at::randn_like(found);
    found.backward(g);
    const at::Tensor gradient = x.grad().clone();
    x.mutable_grad().reset();
    composed.backward(g);
    EXPECT_TRUE(at::allclose(gradient, x.grad(), 1e-6, 1e-9));
  }
}

TEST(RoiAlign, AgreesWithTheCompositeWhereAnImageHasNoRegion) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({3, 2, 6, 5}, at::kDouble);
  at::Tensor regions = random_regions(4, x.sizes(), kSmall.scale).to(at::kDouble);
  regions.select(1, 0).fill_(1).slice(0, 2).fill_(2);
  const at::Tensor found = roi_align(x, regions, kSmall);
  EXPECT_TRUE(at::allclose(found, composed_roi_align(x, regions, kSmall), 1e-6, 1e-9));
}

TEST(RoiAlign, IsTheSameWithAnyNumberOfThreads) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({2, 100, 13, 11}).requires_grad_();
  const at::Tensor regions = random_regions(37, x.sizes(), kSmall.scale);
  const at::Tensor g = at::randn({37, 100, 3, 2});
  std::vector<at::Tensor> results;
  std::vector<at::Tensor> gradients;
  for (const int threads : {1, 2, 3}) {
    fixtures::set_threads(threads);
    results.push_back(roi_align(x, regions, kSmall));
    x.mutable_grad().reset();
    results.back().backward(g);
    gradients.push_back(x.grad());
  }
  fixtures::set_threads(1);
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_TRUE(at::equal(results[i], results[0]));
    EXPECT_TRUE(at::equal(gradients[i], gradients[0]));
  }
}

TEST(RoiAlign, OfNoRegionsIsEmptyAndHasNoGradient) {
  const at::Tensor x = at::randn({1, 3, 6, 5}).requires_grad_();
  const at::Tensor y = roi_align(x, at::zeros({0, 5}), kSmall);
  EXPECT_EQ(y.sizes(), (std::vector<int64_t>{0, 3, 3, 2}));
  y.sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), at::zeros_like(x)));
}

TEST(RoiAlign, GivesZeroWhereACoordinateIsNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor regions = at::tensor({0.F, nan, 1.F, 9.F, 9.F}).view({1, 5});
  EXPECT_TRUE(
      at::equal(roi_align(at::randn({1, 3, 6, 5}), regions, kSmall), at::zeros({1, 3, 3, 2})));
}

TEST(RoiAlign, ReadsStridedTensors) {
  const at::Tensor x = at::randn({2, 9, 7, 8});
  const at::Tensor regions = random_regions(5, x.sizes(), 0.25);
  EXPECT_TRUE(at::equal(roi_align(x.transpose(2, 3), regions.t().contiguous().t(), kSmall),
                        roi_align(x.transpose(2, 3).contiguous(), regions, kSmall)));
}

TEST(RoiAlign, RefusesShapesThatDoNotFit) {
  const at::Tensor x = at::randn({1, 3, 6, 5});
  const at::Tensor regions = at::zeros({2, 5});
  EXPECT_THROW(roi_align(x[0], regions, kSmall), c10::Error);
  EXPECT_THROW(roi_align(x, at::zeros({2, 4}), kSmall), c10::Error);
  EXPECT_THROW(roi_align(x, at::zeros({5}), kSmall), c10::Error);
  EXPECT_THROW(roi_align(x.slice(2, 0, 0), regions, kSmall), c10::Error);
  EXPECT_THROW(roi_align(x, regions, {0, 2, 1, 2}), c10::Error);
  EXPECT_THROW(roi_align(x, regions, {2, 2, 1, 0}), c10::Error);
  EXPECT_THROW(roi_align(x, at::full({2, 5}, 1.0), kSmall), c10::Error);   // of image 1
  EXPECT_THROW(roi_align(x, at::full({2, 5}, -1.0), kSmall), c10::Error);  // of image -1
}

}  // namespace
}  // namespace fathom::ops
