#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>

#include "benchmarks/peak_memory.h"
#include "fixtures/data_error.h"
#include "fixtures/jpeg.h"
#include "tests/jpeg_files.h"

namespace fathom::fixtures {
namespace {

using tests::Coding;
using tests::Colours;
using tests::jpeg_file;
using tests::resized;
using tests::smooth_picture;
using Bytes = std::vector<uint8_t>;

constexpr const char* kPath = "folder/photo.JPEG";
#ifdef __SANITIZE_ADDRESS__
constexpr double kMostMemory = 512e6;  // bytes; what was freed is kept a while
#else
constexpr double kMostMemory = 32e6;  // bytes
#endif

Bytes bytes(std::string_view text) { return {text.begin(), text.end()}; }

/// The message with which `file` is refused; empty where it is not.
std::string refusal(const Bytes& file) {
  try {
    decode_jpeg(file, kPath);
    return {};
  } catch (const DataError& error) {
    return error.what();
  }
}

testing::AssertionResult says(const std::string& message, const std::string& words) {
  if (message.find(words) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << message << " (does not say: " << words << ')';
}

class DamagedJpeg : public testing::TestWithParam<tests::Kind> {
 protected:
  static Bytes file(int64_t width, int64_t height) {
    return jpeg_file(smooth_picture(width, height), GetParam().colours, GetParam().coding);
  }
};

INSTANTIATE_TEST_SUITE_P(Jpeg, DamagedJpeg, testing::ValuesIn(tests::kKinds),
                         [](const auto& row) { return row.param.name; });

TEST_P(DamagedJpeg, IsRefusedWhereverItIsCut) {
  const Bytes whole = file(20, 10);
  for (std::size_t size = 2; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string message = refusal(cut);
    EXPECT_TRUE(says(message, kPath));
    EXPECT_TRUE(says(message, "\"Premature end of JPEG file\" (warnings are treated as errors"));
    EXPECT_TRUE(says(message, " of " + std::to_string(size)));
  }
}

/// Flips bits, cuts, inserts bytes or overwrites a run of them.
Bytes damaged(Bytes file, std::mt19937& random) {
  const auto place = [&] { return static_cast<std::ptrdiff_t>(random() % file.size()); };
  const auto byte = [&] { return static_cast<uint8_t>(random() % 4 == 0 ? 0xFF : random()); };
  switch (random() % 4) {
    case 0:
      for (auto flips = random() % 4; flips < 4; ++flips) {
        file[static_cast<std::size_t>(place())] ^= static_cast<uint8_t>(1U << random() % 8);
      }
      break;
    case 1:
      file.resize(static_cast<std::size_t>(place()));
      break;
    case 2:
      file.insert(file.begin() + place(), random() % 8 + 1, byte());
      break;
    default:
      const auto start = place();
      const auto run = std::min<std::ptrdiff_t>(random() % 8 + 1, std::ssize(file) - start);
      std::generate_n(file.begin() + start, run, byte);
  }
  return file;
}

TEST_P(DamagedJpeg, GivesAPictureOrAMessageWhateverItsDamage) {
  constexpr int kTrials = 2000;
  const Bytes whole = file(40, 24);
  const benchmarks::PeakMemory peak(fixtures::Device::kCpu);
  const double before = peak.bytes().value_or(0);
  std::mt19937 random(7);
  int pictures = 0;
  testing::internal::CaptureStderr();
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial);
    const Bytes file = damaged(whole, random);
    const int eighths = static_cast<int>(random() % 8 + 1);
    try {
      const Picture picture = decode_jpeg(file, kPath, eighths);
      const auto [width, height] = jpeg_size(file, kPath);
      ASSERT_EQ(picture.width, (width * eighths + 7) / 8);
      ASSERT_EQ(picture.height, (height * eighths + 7) / 8);
      ASSERT_EQ(std::ssize(picture.pixels), 3 * picture.width * picture.height);
      ++pictures;
    } catch (const DataError& error) {
      const std::string message = error.what();
      ASSERT_TRUE(message.starts_with(std::string(kPath) + ": ")) << message;
      ASSERT_TRUE(says(message, ", expected "));
      ASSERT_FALSE(says(message, "\n"));
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(pictures, 0);
  EXPECT_LT(pictures, kTrials);
  EXPECT_LT(peak.bytes().value_or(0) - before, kMostMemory);
}

TEST(BadJpeg, OfNoBytesIsNamedEmpty) {
  EXPECT_EQ(refusal({}), std::string(kPath) +
                             ": the file is empty (0 bytes), expected a JPEG file; copy the file "
                             "again, convert or remove it");
}

TEST(BadJpeg, NamesOtherFormatsBySignature) {
  using namespace std::string_view_literals;
  const std::pair<std::string_view, const char*> starts[]{
      {"\x89PNG\r\n\x1A\n\0\0\0\rIHDR"sv, "a PNG signature"},
      {"GIF89a\1\0\1\0"sv, "a GIF signature"},
      {"RIFF\x24\0\0\0WEBPVP8 "sv, "a WebP signature"},
      {"BM\x46\0\0\0"sv, "a BMP signature"},
      {"II*\0\x08\0\0\0"sv, "a TIFF signature"},
      {"MM\0*\0\0\0\x08"sv, "a TIFF signature"},
      {"RIFF\x24\0\0\0WAVEfmt "sv, "52 49 46 46"},
      {"\xFF"sv, "found FF,"},
      {"\0\0"sv, "found 00 00,"},
  };
  for (const auto& [start, name] : starts) {
    EXPECT_TRUE(says(refusal(bytes(start)), name));
    EXPECT_TRUE(says(refusal(bytes(start)), "byte 0: "));
    EXPECT_TRUE(says(refusal(bytes(start)), "expected FF D8, the start of a JPEG file"));
    EXPECT_THROW(jpeg_size(bytes(start), kPath), DataError);
  }
}

TEST(BadJpeg, WithoutAPictureIsRefused) {
  EXPECT_TRUE(says(refusal({0xFF, 0xD8, 0xFF, 0xD9}), "JPEG datastream contains no image"));
}

TEST(BadJpeg, ThatEndsEarlyBetweenOtherDataIsRefused) {
  Bytes file = jpeg_file(tests::noise(64, 64));
  const auto middle = file.size() / 2;
  file[middle] = 0xFF;
  file[middle + 1] = 0xD9;
  EXPECT_TRUE(says(refusal(file),
                   "Corrupt JPEG data: premature end of data segment\" (warnings "
                   "are treated as errors)"));
}

TEST(BadJpeg, OfImpossibleSizeIsRefusedBeforeMemoryIsAskedFor) {
  const Bytes file = jpeg_file(smooth_picture(16, 16));
  const benchmarks::PeakMemory peak(fixtures::Device::kCpu);
  const double before = peak.bytes().value_or(0);
  const struct {
    int width, height;
    const char* limit;
  } bombs[]{
      {65535, 65535, "expected sides of 1 to 65500;"},
      {65501, 8, "expected sides of 1 to 65500;"},
      {8, 65501, "expected sides of 1 to 65500;"},
      {0, 16, "expected sides of 1 to 65500;"},
      {16, 0, "expected sides of 1 to 65500;"},
      {65500, 65500, "expected at most 100000000;"},
      {10001, 10000, "expected at most 100000000;"},
      {10000, 10000, "bytes;"},
      {1000, 1000, "bytes;"},
  };
  for (const auto& [width, height, limit] : bombs) {
    const std::string size = std::to_string(width) + "x" + std::to_string(height) + " pixels";
    const std::string message = refusal(resized(file, width, height));
    EXPECT_TRUE(says(message, "the header says " + size));
    EXPECT_TRUE(says(message, limit));
    EXPECT_THROW(jpeg_size(resized(file, width, height), kPath), DataError);
  }
  EXPECT_LT(peak.bytes().value_or(0) - before, 8e6);
}

TEST(BadJpeg, OfMoreThanAHundredScansIsRefused) {
  Bytes file = jpeg_file(smooth_picture(64, 64), Colours::kRgb, Coding::kPlanes);
  constexpr uint8_t kStartOfScan[]{0xFF, 0xDA};
  const auto last = std::find_end(file.begin(), file.end(), kStartOfScan, kStartOfScan + 2);
  const Bytes scan(last, file.end() - 2);
  for (int i = 0; i < 97; ++i) file.insert(file.end() - 2, scan.begin(), scan.end());
  EXPECT_EQ(refusal(file), "");
  file.insert(file.end() - 2, scan.begin(), scan.end());
  EXPECT_TRUE(says(refusal(file), "\"more than 100 scans\","));
}

TEST(BadJpeg, OfTwelveBitsIsRefused) {
  Bytes file = jpeg_file(smooth_picture(16, 16));
  file[tests::frame_header(file) + 4] = 12;
  EXPECT_TRUE(says(refusal(file), "12"));
}

TEST(BadJpeg, OfTwoColoursIsRefused) {
  const Bytes file{0xFF, 0xD8, 0xFF, 0xC0, 0, 14, 8, 0, 16, 0, 16, 2, 1,  0x11, 0,    2,
                   0x11, 0,    0xFF, 0xDA, 0, 10, 2, 1, 0,  2, 0,  0, 63, 0,    0xFF, 0xD9};
  EXPECT_TRUE(says(refusal(file), "2 colours, expected 1 (gray), 3 or 4 (CMYK)"));
}

}  // namespace
}  // namespace fathom::fixtures
