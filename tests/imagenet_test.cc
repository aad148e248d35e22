#include "fixtures/imagenet.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fixtures/jpeg.h"
#include "tests/messages.h"
#include "tests/temporary_folder.h"

namespace fathom::fixtures {
namespace {

namespace fs = std::filesystem;
using tests::contains;

constexpr ImageShape kShape{.side = 16, .classes = 4};

/// One colour all over.
std::vector<uint8_t> jpeg_of(uint8_t red, uint8_t green, uint8_t blue, int64_t width = 40,
                             int64_t height = 30) {
  Picture picture{.width = width, .height = height, .pixels = {}};
  for (int64_t i = 0; i < width * height; ++i) {
    picture.pixels.insert(picture.pixels.end(), {red, green, blue});
  }
  return encode_jpeg(picture, 95);
}

/// Two classes with four images each: red ones and blue ones.
class ImageNet : public testing::Test {
 protected:
  ImageNet() {
    for (int i = 0; i < 4; ++i) {
      add("n01440764", i, jpeg_of(250, 10, 10));
      add("n01443537", i, jpeg_of(10, 10, 250));
    }
  }

  void add(const std::string& folder, int i, const std::vector<uint8_t>& bytes) {
    data.write("imagenet/train/" + folder + '/' + folder + '_' + std::to_string(i) + ".JPEG",
               bytes);
  }
  fs::path train() const { return data.path() / "imagenet/train"; }

  PoolRequest request(int64_t batch = 4, int count = 2) {
    PoolRequest request{.batch = batch, .count = count, .seed = 1, .training = false, .source = {}};
    request.source.directory = data.path();
    request.source.progress = [this](const std::string& text) { progress.push_back(text); };
    request.source.warn = [this](const std::string& text) { warnings.push_back(text); };
    return request;
  }

  /// The message of the DataError that reading ends with.
  std::string failure(const PoolRequest& request, const ImageShape& shape = kShape) {
    return tests::failure([&] { images(shape, request); });
  }

  tests::TemporaryFolder data;
  std::vector<std::string> progress;
  std::vector<std::string> warnings;
};

TEST_F(ImageNet, GivesBatchesOfImagesAndRanks) {
  const Pool pool = images(kShape, request());
  ASSERT_EQ(pool.batches.size(), 2U);
  EXPECT_EQ(pool.skipped_items, 0);
  std::map<int64_t, int> labels;
  for (const auto& batch : pool.batches) {
    EXPECT_EQ(batch[kImages].sizes(), (std::vector<int64_t>{4, 3, 16, 16}));
    EXPECT_EQ(batch[kImages].scalar_type(), at::kFloat);
    EXPECT_TRUE(batch[kImages].is_contiguous());
    EXPECT_EQ(batch[kLabels].scalar_type(), at::kLong);
    for (int64_t i = 0; i < 4; ++i) {
      const auto label = batch[kLabels][i].item<int64_t>();
      ++labels[label];
      const float red = batch[kImages][i][0].mean().item<float>();
      EXPECT_NEAR(red, label == 0 ? 250 / 127.5 - 1 : 10 / 127.5 - 1, 0.05);
    }
  }
  EXPECT_EQ(labels, (std::map<int64_t, int>{{0, 4}, {1, 4}}));  // every file once
  EXPECT_TRUE(warnings.empty());
}

TEST_F(ImageNet, LeavesTheBackgroundItsLabel) {
  const Pool pool = images({.side = 16, .classes = 5, .first_label = 1}, request());
  EXPECT_EQ(pool.batches[0][kLabels].min().item<int64_t>(), 1);
  EXPECT_EQ(pool.batches[0][kLabels].max().item<int64_t>(), 2);
}

TEST_F(ImageNet, TellsItsProgress) {
  images(kShape, request());
  EXPECT_EQ(progress.front(), "listing imagenet 1 of 2 classes");
  EXPECT_TRUE(contains(progress.back(), " of 8 images"));
}

TEST_F(ImageNet, IsTheSameForTheSameSeedAndAnyThreads) {
  auto training = request();
  training.training = true;
  const Pool first = images(kShape, training);
  const Pool second = images(kShape, training);
  EXPECT_TRUE(at::equal(first.batches[1][kImages], second.batches[1][kImages]));
  training.seed = 2;
  EXPECT_FALSE(at::equal(first.batches[1][kImages], images(kShape, training).batches[1][kImages]));
}

TEST_F(ImageNet, UsesFewImagesAgain) {
  const Pool pool = images(kShape, request(/*batch=*/6));
  EXPECT_TRUE(at::equal(pool.batches[0][kImages][0], pool.batches[1][kImages][2]));
}

TEST_F(ImageNet, FindsEverySpellingOfTheExtension) {
  data.write("imagenet/train/n01440764/a.jpg", jpeg_of(250, 10, 10));
  data.write("imagenet/train/n01440764/b.JPG", jpeg_of(250, 10, 10));
  data.write("imagenet/train/n01440764/c.jpeg", jpeg_of(250, 10, 10));
  EXPECT_EQ(imagenet_files(request().source, 4, 100, 0).size(), 11U);
}

TEST_F(ImageNet, DrawsWithoutReplacement) {
  const auto source = request().source;
  std::set<fs::path> paths;
  for (const auto& file : imagenet_files(source, 4, 5, 0)) paths.insert(file.path);
  EXPECT_EQ(paths.size(), 5U);
}

TEST_F(ImageNet, TakesTinyAndNarrowImages) {
  add("n01440764", 90, jpeg_of(250, 10, 10, 1, 1));
  add("n01440764", 91, jpeg_of(250, 10, 10, 1, 5000));
  for (const bool training : {true, false}) {
    auto all = request(/*batch=*/10, /*count=*/1);
    all.training = training;
    EXPECT_EQ(images(kShape, all).skipped_items, 0);
  }
}

// ---- folders

TEST_F(ImageNet, MissingSaysWhatWasExpected) {
  fs::remove_all(data.path() / "imagenet");
  EXPECT_EQ(failure(request()),
            train().string() +
                ": does not exist, expected imagenet/train/<class>/*.JPEG (--fathom_data)");
}

TEST_F(ImageNet, ThatIsAFileIsNoDirectory) {
  fs::remove_all(train());
  data.write("imagenet/train", std::string("x"));
  EXPECT_TRUE(contains(failure(request()), "/imagenet/train: is not a directory, expected"));
}

TEST_F(ImageNet, WithoutClassFoldersIsRefused) {
  fs::remove_all(train());
  data.write("imagenet/train/flat.JPEG", jpeg_of(1, 2, 3));
  EXPECT_TRUE(contains(failure(request()), "has no class folder, expected imagenet/train/<class>"));
}

TEST_F(ImageNet, WithoutImagesIsRefused) {
  fs::remove_all(train());
  fs::create_directories(train() / "n01440764");
  EXPECT_TRUE(contains(failure(request()), "has no *.JPEG under it, expected"));
}

TEST_F(ImageNet, UnreadableSaysWhy) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every folder";
  fs::permissions(train(), fs::perms::none);
  EXPECT_TRUE(contains(failure(request()), "Permission denied"));
  fs::permissions(train(), fs::perms::owner_all);
}

TEST_F(ImageNet, WithMoreClassesThanTheNetworkIsRefused) {
  EXPECT_TRUE(contains(failure(request(), {.side = 16, .classes = 2, .first_label = 1}),
                       "has 2 class folders, expected at most 1"));
}

TEST_F(ImageNet, WithFewerImagesThanABatchIsRefused) {
  EXPECT_TRUE(contains(failure(request(/*batch=*/9)),
                       "has 8 usable images, expected at least a batch of 9 (--fathom_batch)"));
}

TEST_F(ImageNet, WarnsOfWhatDoesNotBelongThere) {
  fs::create_directories(train() / "n00000000");
  fs::create_directories(train() / "zebra");
  data.write("imagenet/train/zebra/z.JPEG", jpeg_of(9, 9, 9));
  data.write("imagenet/train/list.txt", std::string("x"));
  for (int i = 0; i < 7; ++i) {
    data.write("imagenet/train/n01440764/" + std::to_string(i) + ".txt", std::string("x"));
  }
  images(kShape, request());
  ASSERT_EQ(warnings.size(), 4U);
  EXPECT_TRUE(contains(warnings[0], "not named n and eight digits, taken all the same: zebra"));
  EXPECT_TRUE(contains(warnings[1], "not class folders, left out: list.txt"));
  EXPECT_TRUE(contains(warnings[2], "class folders without a *.JPEG: n00000000"));
  EXPECT_TRUE(contains(warnings[3], "n01440764/4.txt and 2 more"));
}

TEST_F(ImageNet, FollowsLinksButNotInCircles) {
  fs::create_directory_symlink(train() / "n01440764", train() / "n09999999");
  fs::create_directory_symlink(train() / "loop", train() / "loop");
  fs::create_symlink("self.JPEG", train() / "n01443537/self.JPEG");
  const auto files = imagenet_files(request().source, 4, 100, 0);
  EXPECT_EQ(files.size(), 12U);
  EXPECT_EQ(warnings.size(), 2U);  // the loop, the file that is its own target
}

// ---- broken images

TEST_F(ImageNet, SkipsOneBrokenImageInAHundredAndNamesIt) {
  fs::remove_all(train());
  for (int i = 0; i < 100; ++i) add("n01440764", i, jpeg_of(250, 10, 10, 8, 8));
  add("n01440764", 1000, {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'});
  EXPECT_EQ(images(kShape, request(/*batch=*/50, /*count=*/3)).skipped_items, 1);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(contains(warnings[0], "1 of 101 images of"));
  EXPECT_TRUE(contains(warnings[0], "were skipped: n01440764_1000.JPEG"));
}

TEST_F(ImageNet, WithMoreThanOnePercentBrokenIsRefused) {
  add("n01440764", 1000, {});
  const std::string message = failure(request(/*batch=*/4, /*count=*/3));
  EXPECT_TRUE(contains(message, "1 of 9 images of"));
  EXPECT_TRUE(contains(message, "are broken, expected at most 1 %; the first: "));
  EXPECT_TRUE(contains(message, "n01440764_1000.JPEG"));
}

TEST_F(ImageNet, ReadStrictlyEndsAtTheFirstBrokenImage) {
  add("n01440764", 1000, {});
  auto strict = request(/*batch=*/4, /*count=*/3);
  strict.source.strict = true;
  EXPECT_TRUE(contains(failure(strict), "n01440764_1000.JPEG: "));
}

}  // namespace
}  // namespace fathom::fixtures
