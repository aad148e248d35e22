#include "fixtures/idx.h"

#include <gtest/gtest.h>

#include "fixtures/digits.h"
#include "fixtures/gzip.h"
#include "tests/idx_files.h"
#include "tests/messages.h"
#include "tests/temporary_folder.h"

namespace fathom::fixtures {
namespace {

using tests::Bytes;
using tests::contains;
using tests::failure;
using tests::gzipped;
using tests::header;
using tests::image_file;
using tests::joined;
using tests::label_file;
using tests::without_last;

// ---- IDX

struct BadIdx {
  const char* name;
  Bytes file;
  const char* message;
};

void PrintTo(const BadIdx& bad, std::ostream* out) { *out << bad.name; }

const BadIdx kBadIdx[]{
    {"empty", {}, "the file is empty (0 bytes), expected an IDX file, magic 0x00000803"},
    {"one_byte", {0x1F}, "the header needs 16 bytes, the file has 1, expected an intact IDX file"},
    {"magic", Bytes(16, 'x'),
     "byte 0: magic 0x78787878, expected 0x00000803 (u8 images); this is "
     "no IDX file"},
    {"labels", label_file(Bytes(60)),
     "byte 0: magic 0x00000801, expected 0x00000803 (u8 images); this is a label file"},
    {"floats", header(0xD03, {1, 28, 28}),
     "magic 0x00000D03, expected 0x00000803 (u8 images); its elements are of type 0x0D"},
    {"dimensions", header(0x804, {1, 28, 28}), "; it has 4 dimensions"},
    {"header_cut", header(0x803, {1, 28}), "the header needs 16 bytes, the file has 12"},
    {"no_images", header(0x803, {0, 28, 28}),
     "byte 4: sizes 0x28x28, expected 1 to 268435456 bytes in all"},
    {"huge", header(0x803, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}),
     "byte 4: sizes 4294967295x4294967295x4294967295, expected 1 to 268435456 bytes in all"},
    {"wraps_to_zero", header(0x803, {0x80000000, 0x80000000, 4}), "sizes 2147483648x2147483648x4"},
    {"large", header(0x803, {300'000, 28, 28}),
     "byte 16: 0 bytes of data, expected 235200000 for sizes 300000x28x28"},
    {"short", without_last(image_file(Bytes(784)), 1),
     "byte 16: 783 bytes of data, expected 784 for sizes 1x28x28; copy the file again"},
    {"long", joined(image_file(Bytes(784)), {0}), "byte 16: 785 bytes of data, expected 784"},
};

class EveryBadIdx : public testing::TestWithParam<BadIdx> {};
INSTANTIATE_TEST_SUITE_P(Idx, EveryBadIdx, testing::ValuesIn(kBadIdx),
                         [](const auto& row) { return row.param.name; });

TEST_P(EveryBadIdx, SaysWhatIsWrongWhere) {
  const tests::TemporaryFolder folder;
  for (const bool compressed : {false, true}) {
    const auto path =
        folder.write("images", compressed ? gzipped(GetParam().file) : GetParam().file);
    const std::string message = failure([&] { read_idx(path, IdxKind::kImages); });
    EXPECT_TRUE(message.starts_with(path.string() + ": ")) << message;
    EXPECT_TRUE(contains(message, GetParam().message)) << message;
    EXPECT_FALSE(contains(message, "\n"));
  }
}

// ---- gzip

class Gzip : public testing::Test {
 protected:
  std::string unzip_failure(const Bytes& bytes, uint64_t most = 1 << 20) {
    return failure([&] { gunzip(bytes, "a.gz", most); });
  }

  Bytes content = drawn_digits(4, 1);
  Bytes file = gzipped(content);
};

TEST_F(Gzip, ComesBackFromOneMemberAndFromMany) {
  EXPECT_EQ(gunzip(file, "a.gz", content.size()), content);
  EXPECT_EQ(gunzip(joined(file, file), "a.gz", 1 << 20), joined(content, content));
  const Bytes many(1'000'000, 7);  // more than a chunk
  EXPECT_EQ(gunzip(gzipped(many), "a.gz", 1 << 20), many);
}

TEST_F(Gzip, CutAnywhereSaysSo) {
  for (std::size_t cut = 1; cut <= file.size() - 2; ++cut) {
    const std::string message = unzip_failure(without_last(file, cut));
    ASSERT_TRUE(contains(message, "the compressed stream ends early after ")) << message;
  }
  const std::string size = std::to_string(file.size() - 4);
  EXPECT_EQ(unzip_failure(without_last(file, 4)),  // in the trailer
            "a.gz: byte " + size + " of " + size +
                ": the compressed stream ends early after 3136 bytes, expected an intact gzip "
                "file; copy the file again");
}

TEST_F(Gzip, DamagedSaysWhatZlibSays) {
  Bytes damaged = file;
  damaged[file.size() - 8] ^= 1;
  EXPECT_TRUE(
      contains(unzip_failure(damaged), "zlib says incorrect data check, expected an intact"));
  damaged = file;
  damaged[file.size() - 1] ^= 1;
  EXPECT_TRUE(contains(unzip_failure(damaged), "zlib says incorrect length check"));
  damaged = file;
  damaged[2] = 9;
  EXPECT_TRUE(contains(unzip_failure(damaged), "zlib says unknown compression method"));
}

TEST_F(Gzip, FollowedByAnythingIsRefused) {
  const std::string message = unzip_failure(joined(file, {'x', 'y', 'z'}));
  EXPECT_TRUE(contains(message, "3 bytes follow the end of the compressed stream, expected none"));
  EXPECT_TRUE(contains(message, "a.gz: byte " + std::to_string(file.size()) + " of "));
}

TEST_F(Gzip, OfMoreThanTheLimitIsRefused) {
  EXPECT_TRUE(contains(unzip_failure(file, content.size() - 1), "holds more than 3135 bytes"));
  EXPECT_TRUE(contains(unzip_failure(gzipped(Bytes(50'000'000))), "holds more than 1048576 bytes"));
}

TEST_F(Gzip, InsideGzipSaysSo) {
  const tests::TemporaryFolder folder;
  const auto path = folder.write("images.gz", gzipped(gzipped(image_file(content))));
  EXPECT_TRUE(
      contains(failure([&] { read_idx(path, IdxKind::kImages); }),
               "expected 0x00000803 (u8 images); this was compressed twice, gunzip it once"));
}

}  // namespace
}  // namespace fathom::fixtures
