#include "fixtures/jpeg.h"

#include <gtest/gtest.h>

#include "fixtures/data_error.h"
#include "tests/jpeg_files.h"

namespace fathom::fixtures {
namespace {

using tests::Coding;
using tests::Colours;
using tests::jpeg_file;
using tests::smooth_picture;

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
    rgb[0] = rgb[1] = rgb[2] =
        static_cast<uint8_t>(std::lround(0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]));
  }
  return picture;
}

struct Kind {
  const char* name;
  Colours colours;
  Coding coding;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

constexpr Kind kKinds[]{
    {"rgb", Colours::kRgb, Coding::kBaseline},
    {"gray", Colours::kGray, Coding::kBaseline},
    {"cmyk", Colours::kCmyk, Coding::kBaseline},
    {"ycck", Colours::kYcck, Coding::kBaseline},
    {"planes", Colours::kRgb, Coding::kPlanes},
    {"progressive", Colours::kRgb, Coding::kProgressive},
    {"progressive_cmyk", Colours::kCmyk, Coding::kProgressive},
#ifdef C_ARITH_CODING_SUPPORTED
    {"arithmetic", Colours::kRgb, Coding::kArithmetic},
#endif
};

class EveryKind : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Jpeg, EveryKind, testing::ValuesIn(kKinds),
                         [](const auto& row) { return row.param.name; });

TEST_P(EveryKind, ComesBackInItsColours) {
  const Picture picture = smooth_picture(70, 50);
  const auto file = jpeg_file(picture, GetParam().colours, GetParam().coding);
  const Picture back = decode_jpeg(file, kPath);
  EXPECT_EQ(back.width, 70);
  EXPECT_EQ(back.height, 50);
  const bool is_gray = GetParam().colours == Colours::kGray;
  EXPECT_LE(largest_difference(back, is_gray ? gray(picture) : picture), kTolerance);
}

}  // namespace
}  // namespace fathom::fixtures
