#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <regex>
#include <string>

#include "fixtures/device.h"
#include "fixtures/images.h"

namespace fathom::fixtures {
namespace {

constexpr ImageShape kShape{.side = 16, .classes = 10};

TEST(SyntheticImages, AreBatchesOfImagesAndLabels) {
  const auto batches = images(kShape, {.batch = 5, .count = 3, .seed = 1}).batches;
  ASSERT_EQ(batches.size(), 3U);
  for (const auto& batch : batches) {
    ASSERT_EQ(batch.size(), 2U);
    EXPECT_EQ(batch[kImages].sizes(), (std::vector<int64_t>{5, 3, 16, 16}));
    EXPECT_EQ(batch[kImages].scalar_type(), at::kFloat);
    EXPECT_EQ(batch[kLabels].sizes(), (std::vector<int64_t>{5}));
    EXPECT_EQ(batch[kLabels].scalar_type(), at::kLong);
  }
}

TEST(SyntheticImages, FillTheRangeOfScaledPixels) {
  const auto pixels = images(kShape, {.batch = 64, .seed = 1}).batches[0][kImages];
  EXPECT_GE(pixels.min().item<float>(), -1);
  EXPECT_LE(pixels.max().item<float>(), 1);
  EXPECT_NEAR(pixels.mean().item<float>(), 0, 0.01);
  EXPECT_NEAR(pixels.std().item<float>(), 1 / std::sqrt(3),
              0.01);  // of the uniform distribution on [-1, 1]
}

TEST(SyntheticImages, HaveLabelsOfEveryClass) {
  const auto labels = images(kShape, {.batch = 1000, .seed = 1}).batches[0][kLabels];
  EXPECT_EQ(labels.min().item<int64_t>(), 0);
  EXPECT_EQ(labels.max().item<int64_t>(), 9);
}

TEST(SyntheticImages, AreTheSameBitsForTheSameSeed) {
  const auto first = images(kShape, {.batch = 4, .count = 2, .seed = 7}).batches;
  const auto second = images(kShape, {.batch = 4, .count = 2, .seed = 7}).batches;
  for (std::size_t b = 0; b < first.size(); ++b) {
    EXPECT_TRUE(at::equal(first[b][kImages], second[b][kImages]));
    EXPECT_TRUE(at::equal(first[b][kLabels], second[b][kLabels]));
  }
}

TEST(SyntheticImages, DifferBetweenSeedsAndBatches) {
  const auto batches = images(kShape, {.batch = 4, .count = 2, .seed = 7}).batches;
  EXPECT_FALSE(at::equal(batches[0][kImages], batches[1][kImages]));
  EXPECT_FALSE(
      at::equal(batches[0][kImages], images(kShape, {.batch = 4, .seed = 8}).batches[0][kImages]));
}

TEST(Device, CpuIsAlwaysPresent) { EXPECT_EQ(absence(Device::kCpu), ""); }

TEST(Device, CudaIsPresentOrSaysWhyNot) {
  if (!absence(Device::kCuda).empty()) GTEST_SKIP() << absence(Device::kCuda);
  const at::Tensor ones = at::ones({3}, torch_device(Device::kCuda));
  synchronize(Device::kCuda);
  EXPECT_EQ(ones.sum().item<float>(), 3);
}

TEST(Device, LoadsNoCudaLibraryWithoutAGpu) {
  if (absence(Device::kCuda).empty()) GTEST_SKIP() << "this machine has a GPU";
  at::manual_seed(1);
  const at::Tensor x = at::ones({8, 8}).requires_grad_();
  at::mm(x, x).sum().backward();
  const std::regex library(
      "lib(torch_cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nvrtc)[^/]*$");
  std::ifstream maps("/proc/self/maps");
  ASSERT_TRUE(maps);
  for (std::string line; std::getline(maps, line);) {
    EXPECT_FALSE(std::regex_search(line, library)) << line;
  }
}

TEST(Threads, AreSetOnlyOnChange) {
  set_threads(1);
  EXPECT_FALSE(set_threads(1));
  EXPECT_TRUE(set_threads(usable_cores() + 1));
  EXPECT_TRUE(set_threads(1));
}

}  // namespace
}  // namespace fathom::fixtures
