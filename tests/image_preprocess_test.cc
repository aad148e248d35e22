#include "fixtures/image_preprocess.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fathom::fixtures {
namespace {

TEST(Boxes, ForTrainingLieInThePicture) {
  Random random(3);
  for (const PictureSize picture : {PictureSize{500, 375}, {1, 1}, {1, 5000}, {33, 7}}) {
    for (int i = 0; i < 200; ++i) {
      const Box box = random_box(picture, random);
      EXPECT_GE(box.x, 0);
      EXPECT_GE(box.y, 0);
      EXPECT_GE(box.width, 1);
      EXPECT_GE(box.height, 1);
      EXPECT_LE(box.x + box.width, picture.width);
      EXPECT_LE(box.y + box.height, picture.height);
    }
  }
}

TEST(Boxes, ForTrainingCoverFivePercentToAll) {
  Random random(3);
  double least = 1;
  double most = 0;
  for (int i = 0; i < 2000; ++i) {
    const Box box = random_box({1000, 1000}, random);
    const double share = static_cast<double>(box.width * box.height) / 1e6;
    const double aspect = static_cast<double>(box.width) / static_cast<double>(box.height);
    least = std::min(least, share);
    most = std::max(most, share);
    EXPECT_GT(aspect, 0.74);
    EXPECT_LT(aspect, 1.34);
  }
  EXPECT_NEAR(least, 0.05, 0.01);
  EXPECT_GT(most, 0.95);
}

TEST(Boxes, ForEvaluationAreTheCentre) {
  const Box box = central_box({400, 320});
  EXPECT_EQ(box.width, 350);
  EXPECT_EQ(box.height, 280);
  EXPECT_EQ(box.x, 25);
  EXPECT_EQ(box.y, 20);
}

TEST(Eighths, StillCoverTheSide) {
  EXPECT_EQ(eighths_for({0, 0, 100, 100}, 224), 8);
  EXPECT_EQ(eighths_for({0, 0, 224, 500}, 224), 8);
  EXPECT_EQ(eighths_for({0, 0, 448, 500}, 224), 4);
  EXPECT_EQ(eighths_for({0, 0, 447, 500}, 224), 5);
  EXPECT_EQ(eighths_for({0, 0, 9000, 9000}, 224), 1);
}

TEST(Resized, TakesTheBoxInTheOrderOfPlanes) {
  // Left half red, right half blue: the right half alone is blue.
  Picture picture{.width = 8, .height = 4, .pixels = {}};
  for (int i = 0; i < 32; ++i) {
    const bool left = i % 8 < 4;
    for (const int value : {left ? 255 : 0, 0, left ? 0 : 255}) {
      picture.pixels.push_back(static_cast<uint8_t>(value));
    }
  }
  const at::Tensor image = resized(picture, {4, 0, 4, 4}, 6);
  EXPECT_EQ(image.sizes(), (std::vector<int64_t>{3, 6, 6}));
  EXPECT_EQ(image[0].max().item<float>(), 0);
  EXPECT_EQ(image[2].min().item<float>(), 1);
}

TEST(Distort, KeepsTheRangeAndChangesTheImage) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    at::Tensor image = at::rand({3, 8, 8}, at::kFloat);
    const at::Tensor before = image.clone();
    distort(image, random);
    EXPECT_GE(image.min().item<float>(), 0);
    EXPECT_LE(image.max().item<float>(), 1);
    EXPECT_FALSE(at::equal(image, before));
  }
}

TEST(Distort, LeavesGrayGray) {
  Random random(5);
  at::Tensor image = at::rand({1, 8, 8}, at::kFloat).expand({3, 8, 8}).clone();
  distort(image, random);
  EXPECT_TRUE(at::allclose(image[0], image[1], 0, 1e-6));
  EXPECT_TRUE(at::allclose(image[0], image[2], 0, 1e-6));
}

}  // namespace
}  // namespace fathom::fixtures
