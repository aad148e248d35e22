#include "fixtures/jpeg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tests/jpeg_files.h"

namespace fathom::fixtures {
namespace {

using tests::Coding;
using tests::Colours;
using tests::jpeg_file;
using tests::Kind;
using tests::kKinds;
using tests::noise;
using tests::smooth_picture;
using Bytes = std::vector<uint8_t>;

constexpr const char* kPath = "folder/photo.JPEG";
constexpr int kTolerance = 8;  // of 255, for quality 95 and 4:2:0

int largest_difference(const Picture& a, const Picture& b) {
  EXPECT_EQ(a.pixels.size(), b.pixels.size());
  int largest = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  }
  return largest;
}

Picture gray(Picture picture) {
  for (std::size_t i = 0; i < picture.pixels.size(); i += 3) {
    uint8_t* rgb = &picture.pixels[i];
    const double luminance = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
    std::fill_n(rgb, 3, static_cast<uint8_t>(std::lround(luminance)));
  }
  return picture;
}

class EveryJpeg : public testing::TestWithParam<Kind> {
 protected:
  static Bytes file(int64_t width, int64_t height) {
    return jpeg_file(smooth_picture(width, height), GetParam().colours, GetParam().coding);
  }
};

INSTANTIATE_TEST_SUITE_P(Jpeg, EveryJpeg, testing::ValuesIn(kKinds),
                         [](const auto& row) { return row.param.name; });

TEST_P(EveryJpeg, ComesBackInItsColours) {
  const Picture picture = smooth_picture(70, 50);
  const bool is_gray = GetParam().colours == Colours::kGray;
  const Picture back = decode_jpeg(file(70, 50), kPath);
  EXPECT_EQ(back.width, 70);
  EXPECT_EQ(back.height, 50);
  EXPECT_LE(largest_difference(back, is_gray ? gray(picture) : picture), kTolerance);
}

TEST_P(EveryJpeg, TellsItsSizeInTheHeader) {
  EXPECT_EQ(jpeg_size(file(70, 50), kPath), (PictureSize{70, 50}));
}

TEST_P(EveryJpeg, MayBeTinyOrNarrow) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 5000}, {5000, 1}}) {
    const Picture back = decode_jpeg(file(width, height), kPath);
    EXPECT_EQ(back.width, width);
    EXPECT_EQ(back.height, height);
    EXPECT_EQ(std::ssize(back.pixels), 3 * width * height);
  }
}

TEST_P(EveryJpeg, MayHaveBytesAfterItsEnd) {
  Bytes longer = file(20, 10);
  longer.insert(longer.end(), 1000, 0xFF);
  EXPECT_EQ(decode_jpeg(longer, kPath).pixels, decode_jpeg(file(20, 10), kPath).pixels);
}

TEST_P(EveryJpeg, ShrinksByEighthsRoundedUp) {
  const Bytes whole = file(37, 21);
  for (int eighths = 1; eighths <= 8; ++eighths) {
    const Picture picture = decode_jpeg(whole, kPath, eighths);
    EXPECT_EQ(picture.width, (37 * eighths + 7) / 8);
    EXPECT_EQ(picture.height, (21 * eighths + 7) / 8);
    EXPECT_EQ(std::ssize(picture.pixels), 3 * picture.width * picture.height);
  }
}

TEST(Jpeg, ShrinksToTheMeanOfItsPixels) {
  constexpr std::size_t kWidth = 64;
  const Picture whole = smooth_picture(kWidth, 48);
  const Picture half = decode_jpeg(jpeg_file(whole), kPath, 4);
  for (std::size_t i = 0; i < half.pixels.size(); ++i) {
    const std::size_t row = i / (kWidth / 2 * 3);
    const std::size_t column = i / 3 % (kWidth / 2);
    const uint8_t* corner = &whole.pixels[(row * 2 * kWidth + column * 2) * 3 + i % 3];
    const int sum = corner[0] + corner[3] + corner[kWidth * 3] + corner[kWidth * 3 + 3];
    EXPECT_NEAR(half.pixels[i], sum / 4.0, kTolerance);
  }
}

TEST(Jpeg, OfOneColourIsNotTakenForABomb) {
  const Picture black{.width = 1200, .height = 800, .pixels = Bytes(std::size_t{3} * 1200 * 800)};
  for (const Kind& kind : kKinds) {
    if (kind.coding == Coding::kArithmetic) continue;  // far below a bit a block
    SCOPED_TRACE(kind.name);
    EXPECT_EQ(decode_jpeg(jpeg_file(black, kind.colours, kind.coding), kPath).pixels, black.pixels);
  }
}

TEST(Jpeg, DoesNotGrow) {
  const Bytes file = jpeg_file(smooth_picture(8, 8));
  EXPECT_THROW(decode_jpeg(file, kPath, 0), std::invalid_argument);
  EXPECT_THROW(decode_jpeg(file, kPath, 9), std::invalid_argument);
}

TEST(EncodedJpeg, ComesBack) {
  const Picture picture = smooth_picture(99, 33);
  EXPECT_LE(largest_difference(decode_jpeg(encode_jpeg(picture, 95), kPath), picture), kTolerance);
}

TEST(EncodedJpeg, IsBaselineWithHalvedColours) {
  const Bytes file = encode_jpeg(smooth_picture(16, 16), 90);
  const uint8_t* header = &file[tests::frame_header(file)];
  EXPECT_EQ(header[1], 0xC0);
  EXPECT_EQ(header[11], 0x22);
  EXPECT_EQ(header[14], 0x11);
  EXPECT_EQ(header[17], 0x11);
}

TEST(EncodedJpeg, GrowsWithQualityAndHoldsNoise) {
  const Picture picture = noise(61, 47);
  std::size_t size = 0;
  for (const int quality : {1, 25, 50, 75, 100}) {
    const Bytes file = encode_jpeg(picture, quality);
    EXPECT_GT(file.size(), size);
    EXPECT_EQ(decode_jpeg(file, kPath).width, 61);
    size = file.size();
  }
}

TEST(EncodedJpeg, NeedsPixelsAndAQuality) {
  const Picture picture = smooth_picture(4, 4);
  EXPECT_THROW(encode_jpeg({}, 90), std::invalid_argument);
  EXPECT_THROW(encode_jpeg({.width = 4, .height = 5, .pixels = picture.pixels}, 90),
               std::invalid_argument);
  EXPECT_THROW(encode_jpeg(picture, 0), std::invalid_argument);
  EXPECT_THROW(encode_jpeg(picture, 101), std::invalid_argument);
}

}  // namespace
}  // namespace fathom::fixtures
