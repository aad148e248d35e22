#include "fixtures/mnist.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "fixtures/digits.h"
#include "fixtures/random.h"
#include "tests/idx_files.h"
#include "tests/messages.h"
#include "tests/mutations.h"
#include "tests/temporary_folder.h"

namespace fathom::fixtures {
namespace {

namespace fs = std::filesystem;
using tests::Bytes;
using tests::contains;
using tests::failure;
using tests::gzipped;
using tests::image_file;
using tests::label_file;

constexpr const char* kTraining = "mnist/train-images-idx3-ubyte";
constexpr const char* kTest = "mnist/t10k-images-idx3-ubyte";
constexpr const char* kLabels = "mnist/train-labels-idx1-ubyte";
constexpr PixelScale kScales[]{PixelScale::kStandardised, PixelScale::kUnit};

// ---- drawn digits

TEST(DrawnDigits, HaveTheStatisticsOfMnist) {
  for (const uint64_t seed : {0U, 1U, 2U}) {
    const auto pixels = drawn_digits(4096, seed);
    double zeros = 0;
    double sum = 0;
    double squares = 0;
    std::vector<int64_t> columns(784);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const double value = pixels[i] / 255.0;
      zeros += pixels[i] == 0;
      sum += value;
      squares += value * value;
      columns[i % 784] += pixels[i];
    }
    const auto n = static_cast<double>(pixels.size());
    const double mean = sum / n;
    EXPECT_NEAR(zeros / n, 0.809, 0.005);
    EXPECT_NEAR(mean, 0.1307, 0.004);
    EXPECT_NEAR(std::sqrt(squares / n - mean * mean), 0.3081, 0.004);
    EXPECT_NEAR(static_cast<double>(std::count(columns.begin(), columns.end(), 0)), 67, 4);
    EXPECT_EQ(columns.front(), 0);  // a corner
    EXPECT_GT(columns[14 * 28 + 14], 5 * columns[14 * 28 + 3]);
  }
}

TEST(DrawnDigits, AreTheSameForTheSameSeed) {
  EXPECT_EQ(drawn_digits(10, 3), drawn_digits(10, 3));
  EXPECT_NE(drawn_digits(10, 3), drawn_digits(10, 4));
}

TEST(SyntheticMnist, GivesBatchesOfPixels) {
  for (const auto scale : kScales) {
    for (const bool training : {true, false}) {
      const Pool pool = mnist(scale, {.batch = 128, .count = 3, .seed = 1, .training = training});
      ASSERT_EQ(pool.batches.size(), 3U);
      EXPECT_EQ(pool.skipped_items, 0);
      for (const auto& batch : pool.batches) {
        ASSERT_EQ(batch.size(), 1U);
        EXPECT_EQ(batch[kPixels].sizes(), (std::vector<int64_t>{128, 784}));
        EXPECT_EQ(batch[kPixels].scalar_type(), at::kFloat);
        EXPECT_TRUE(batch[kPixels].is_contiguous());
        EXPECT_TRUE(batch[kPixels].isfinite().all().item<bool>());
      }
    }
  }
}

TEST(SyntheticMnist, IsStandardisedWithTheTrainingStatistics) {
  const auto training = mnist(PixelScale::kStandardised, {.batch = 2048, .count = 4}).batches;
  const auto pixels = training[0][kPixels];
  EXPECT_NEAR(pixels.mean().item<float>(), 0, 0.02);
  EXPECT_NEAR(pixels.square().mean().item<float>(), 716 / 784.0, 0.05);
  EXPECT_GT(pixels.max().item<float>(), 20);  // a pixel that is rarely inked
  const auto constant = pixels.eq(0).all(0).sum().item<int64_t>();
  EXPECT_NEAR(static_cast<double>(constant), 67, 4);

  const auto test = mnist(PixelScale::kStandardised, {.batch = 2048, .training = false}).batches;
  EXPECT_NEAR(test[0][kPixels].mean().item<float>(), 0, 0.03);
}

TEST(SyntheticMnist, IsWithinZeroAndOneForABernoulliLikelihood) {
  const auto pixels = mnist(PixelScale::kUnit, {.batch = 256}).batches[0][kPixels];
  EXPECT_EQ(pixels.min().item<float>(), 0);
  EXPECT_EQ(pixels.max().item<float>(), 1);
  EXPECT_NEAR(pixels.mean().item<float>(), 0.1307, 0.01);
}

TEST(SyntheticMnist, IsTheSameForTheSameSeed) {
  const PoolRequest request{.batch = 8, .count = 2, .seed = 7};
  const auto first = mnist(PixelScale::kStandardised, request).batches;
  const auto second = mnist(PixelScale::kStandardised, request).batches;
  EXPECT_TRUE(at::equal(first[1][kPixels], second[1][kPixels]));
  EXPECT_FALSE(at::equal(first[0][kPixels], first[1][kPixels]));
  const auto other = mnist(PixelScale::kStandardised, {.batch = 8, .seed = 8}).batches;
  EXPECT_FALSE(at::equal(first[0][kPixels], other[0][kPixels]));
}

// ---- files

/// 60 training images and 20 for tests.
class Mnist : public testing::Test {
 protected:
  Mnist() {
    data.write(kTraining, image_file(training));
    data.write(kTest, image_file(test));
  }

  PoolRequest request(int64_t batch = 60, int count = 1) {
    PoolRequest request{.batch = batch, .count = count, .seed = 1, .training = true, .source = {}};
    request.source.directory = data.path();
    request.source.progress = [this](const std::string& text) { progress.push_back(text); };
    return request;
  }

  at::Tensor pixels(PixelScale scale = PixelScale::kUnit) {
    return mnist(scale, request()).batches[0][kPixels];
  }

  std::string read_failure(const PoolRequest& request,
                           PixelScale scale = PixelScale::kStandardised) {
    return failure([&] { mnist(scale, request); });
  }

  void replace(const char* name, const Bytes& bytes) { data.write(name, bytes); }

  tests::TemporaryFolder data;
  Bytes training = drawn_digits(60, 5);
  Bytes test = drawn_digits(20, 6);
  std::vector<std::string> progress;
};

TEST_F(Mnist, GivesEveryPixel) {
  const at::Tensor read = pixels();
  for (std::size_t i = 0; i < training.size(); ++i) {
    ASSERT_EQ(read.const_data_ptr<float>()[i], static_cast<float>(training[i] / 255.0));
  }
  EXPECT_EQ(progress, (std::vector<std::string>{"reading mnist train-images-idx3-ubyte"}));
}

TEST_F(Mnist, IsFoundInEverySpelling) {
  const at::Tensor raw = pixels();
  const Bytes compressed = gzipped(image_file(training));
  for (const std::string name :
       {"train-images-idx3-ubyte.gz", "train-images.idx3-ubyte.gz", "train-images.idx3-ubyte"}) {
    fs::remove_all(data.path() / "mnist");
    data.write("mnist/" + name, compressed);  // gzip is known by its bytes, not by its name
    EXPECT_TRUE(at::equal(pixels(), raw)) << name;
  }
}

TEST_F(Mnist, IsStandardisedAPixelAtATime) {
  auto requested = request(/*batch=*/20);
  requested.training = false;
  const at::Tensor train = pixels(PixelScale::kStandardised);
  const at::Tensor other = mnist(PixelScale::kStandardised, requested).batches[0][kPixels];
  for (std::size_t column = 0; column < 784; ++column) {
    double mean = 0;
    for (std::size_t i = column; i < training.size(); i += 784) mean += training[i] / 255.0 / 60;
    double variance = 0;
    for (std::size_t i = column; i < training.size(); i += 784) {
      variance += std::pow(training[i] / 255.0 - mean, 2) / 60;
    }
    const double divisor = variance < 1e-12 ? 1 : std::sqrt(variance);
    for (std::size_t i = column; i < training.size(); i += 784) {
      ASSERT_NEAR(train.const_data_ptr<float>()[i], (training[i] / 255.0 - mean) / divisor, 1e-4);
    }
    for (std::size_t i = column; i < test.size(); i += 784) {
      ASSERT_NEAR(other.const_data_ptr<float>()[i], (test[i] / 255.0 - mean) / divisor, 1e-4);
    }
  }
}

TEST_F(Mnist, MakesConstantPixelsZero) {
  for (std::size_t i = 400; i < training.size(); i += 784) training[i] = 201;
  replace(kTraining, image_file(training));
  const at::Tensor read = pixels(PixelScale::kStandardised);
  for (int64_t i = 0; i < 60; ++i) EXPECT_EQ(read[i][400].item<float>(), 0);
}

TEST_F(Mnist, TakesConsecutiveImages) {
  for (std::size_t i = 0; i < training.size(); ++i) {
    training[i] = static_cast<uint8_t>(i / 784);  // every pixel tells the image's number
  }
  replace(kTraining, image_file(training));
  const auto batches = mnist(PixelScale::kUnit, request(/*batch=*/10, /*count=*/30)).batches;
  std::set<int64_t> starts;
  for (const auto& batch : batches) {
    const auto number = batch[kPixels].select(1, 300).mul(255).round();
    starts.insert(number[0].item<int64_t>());
    for (int64_t i = 1; i < 10; ++i) {
      EXPECT_EQ(number[i].item<float>(), number[0].item<float>() + static_cast<float>(i));
    }
  }
  EXPECT_GT(starts.size(), 10U);
  EXPECT_LE(*starts.rbegin(), 50);
}

TEST_F(Mnist, LeavesTheValidationImagesOutOfMany) {
  for (const std::size_t count : {10'000U, 10'001U}) {
    Bytes many(count * 784);
    std::fill(many.begin(), many.begin() + 3'920'000, uint8_t{255});
    replace(kTraining, image_file(many));
    const auto all = static_cast<int64_t>(count == 10'000 ? count : count - 5000);
    const at::Tensor read = mnist(PixelScale::kUnit, request(all)).batches[0][kPixels];
    EXPECT_EQ(read.max().item<float>(), count == 10'000 ? 1 : 0);
    EXPECT_TRUE(contains(read_failure(request(all + 1)),
                         "/mnist: has " + std::to_string(all) +
                             " training images, expected at least a batch of " +
                             std::to_string(all + 1) + " (--fathom_batch)"));
  }
}

TEST_F(Mnist, NeedsNoTrainingImagesForUnscaledTests) {
  fs::remove(data.path() / kTraining);
  auto requested = request(/*batch=*/20);
  requested.training = false;
  const at::Tensor read = mnist(PixelScale::kUnit, requested).batches[0][kPixels];
  EXPECT_EQ(read[3][400].item<float>(), static_cast<float>(test[3 * 784 + 400] / 255.0));
  EXPECT_TRUE(contains(read_failure(requested), "has no train-images-idx3-ubyte[.gz], expected"));
}

TEST_F(Mnist, MissingSaysWhatWasExpected) {
  const std::string layout =
      ", expected mnist/train-images-idx3-ubyte[.gz] and mnist/t10k-images-idx3-ubyte[.gz] "
      "(--fathom_data)";
  const std::string folder = data.path() / "mnist";
  auto requested = request(/*batch=*/20);
  requested.training = false;
  fs::remove(data.path() / kTest);
  EXPECT_EQ(read_failure(requested), folder + ": has no t10k-images-idx3-ubyte[.gz]" + layout);
  fs::remove(data.path() / kTraining);
  EXPECT_EQ(read_failure(request()), folder + ": has no train-images-idx3-ubyte[.gz]" + layout);
  fs::remove_all(folder);
  EXPECT_EQ(read_failure(request()), folder + ": does not exist" + layout);
  data.write("mnist", std::string("x"));
  EXPECT_EQ(read_failure(request()), folder + ": is not a directory" + layout);
  fs::remove(folder);
  fs::create_symlink("mnist", folder);
  EXPECT_EQ(read_failure(request()), folder + ": Too many levels of symbolic links" + layout);
}

TEST_F(Mnist, ThatIsADirectoryIsNoFile) {
  fs::remove(data.path() / kTraining);
  fs::create_directories(data.path() / kTraining);
  EXPECT_TRUE(contains(read_failure(request()), "images-idx3-ubyte: is not a regular file"));
}

TEST_F(Mnist, ChecksLabelsThatLieBeside) {
  Bytes labels(60, 9);
  replace(kLabels, label_file(labels));
  EXPECT_EQ(read_failure(request()), "no error");
  labels[17] = 10;
  replace(kLabels, label_file(labels));
  EXPECT_TRUE(contains(read_failure(request()),
                       "train-labels-idx1-ubyte: label 17 is 10, expected 0 to 9"));
  labels.pop_back();
  replace(kLabels, label_file(labels));
  const std::string counts = read_failure(request());
  EXPECT_TRUE(contains(counts, "train-labels-idx1-ubyte: has 59 labels, expected 60 as "));
  EXPECT_TRUE(contains(counts, "train-images-idx3-ubyte has images"));
  replace(kLabels, image_file(training));
  EXPECT_TRUE(contains(read_failure(request()),
                       "magic 0x00000803, expected 0x00000801 (u8 labels); this is an image file"));
}

TEST_F(Mnist, OfOtherSizesIsRefused) {
  replace(kTraining, tests::joined(tests::header(0x803, {2, 32, 16}), Bytes(1024)));
  EXPECT_TRUE(
      contains(read_failure(request()),
               "byte 8: images of 32x16 pixels, expected 28x28, which this workload needs"));
}

// ---- any fault

TEST_F(Mnist, WithAnyFaultIsReadOrRefused) {
  constexpr int kMutations = 3000;
  const Bytes raw = image_file(training);
  Random random(11);
  const auto began = std::chrono::steady_clock::now();
  for (const Bytes& whole : {raw, gzipped(raw)}) {
    int refused = 0;
    for (int i = 0; i < kMutations; ++i) {
      replace(kTraining, tests::mutated(whole, random));
      const std::string message = read_failure(request(/*batch=*/1));
      if (message == "no error") continue;
      ++refused;
      ASSERT_TRUE(contains(message, (data.path() / "mnist").string())) << message;
    }
    EXPECT_GT(refused, kMutations / 3);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(100));
}

}  // namespace
}  // namespace fathom::fixtures
