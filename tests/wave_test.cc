#include "fixtures/wave.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/messages.h"
#include "tests/mutations.h"
#include "tests/speech_files.h"

namespace fathom::fixtures {
namespace {

using tests::chunk;
using tests::contains;
using tests::data_bytes;
using tests::failure;
using tests::riff_file;
using tests::riff_format;
using tests::sphere_fields;
using tests::sphere_file;

Waveform parse(const std::string& file) {
  return parse_wave({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, "a/b.WAV");
}

const std::vector<int16_t> kSamples{0, 1, -1, 32'767, -32'768, 258};

/// `text` with the one `part` of it replaced.
std::string with(std::string text, const std::string& part, const std::string& other) {
  return text.replace(text.find(part), part.size(), other);
}

/// A SPHERE file of kSamples with one part of its header's lines replaced.
std::string sphere_with(const std::string& part, const std::string& other) {
  return sphere_file(with(sphere_fields(kSamples.size()), part, other), data_bytes(kSamples));
}

TEST(Wave, ReadsSphere) {
  const Waveform wave = parse(sphere_file(kSamples));
  EXPECT_EQ(wave.samples, kSamples);
  EXPECT_EQ(wave.remark, "");
}

TEST(Wave, ReadsSphereInBigEndian) {
  const auto fields = with(sphere_fields(kSamples.size()), "-s2 01", "-s2 10");
  EXPECT_EQ(parse(sphere_file(fields, data_bytes(kSamples, /*little=*/false))).samples, kSamples);
}

TEST(Wave, ReadsSphereWithCommentsAndOtherFields) {
  const std::string more = "; a comment\n\nsnr -r 3.5\nsample_coding -s3 pcm\nnote -s4 a b c\n";
  EXPECT_EQ(parse(sphere_with("end_head", more + "end_head")).samples, kSamples);
}

TEST(Wave, ChecksSpheresSum) {
  // 0 + 1 - 1 + 32767 - 32768 + 258
  EXPECT_EQ(parse(sphere_with("end_head", "sample_checksum -i 257\nend_head")).samples, kSamples);
}

TEST(Wave, RemarksOnAnOddHeaderLength) {
  std::string file = "NIST_1A\n    500\n" + sphere_fields(kSamples.size());
  file.resize(500, ' ');
  const Waveform wave = parse(file + data_bytes(kSamples));
  EXPECT_EQ(wave.samples, kSamples);
  EXPECT_EQ(wave.remark, "a/b.WAV: byte 8: header of 500 bytes, expected a multiple of 1024");
}

TEST(Wave, ReadsRiff) { EXPECT_EQ(parse(riff_file(kSamples)).samples, kSamples); }

TEST(Wave, ReadsRiffWithOtherChunksAndExtensibleFormat) {
  const std::string format =
      riff_format(0xFFFE) + std::string(8, '\0') + "\1" + std::string(15, '\0');
  EXPECT_EQ(parse(riff_file(chunk("LIST", "odd") + chunk("fmt ", format) +
                            chunk("data", data_bytes(kSamples)) + chunk("id3 ", "x")))
                .samples,
            kSamples);
}

struct BadFile {
  const char* name;
  std::string file;
  const char* message;
};

void PrintTo(const BadFile& bad, std::ostream* out) { *out << bad.name; }

const BadFile kBadFiles[]{
    {"empty", "", "byte 0: is empty, expected \"NIST_1A\" (SPHERE) or \"RIFF\"; convert it"},
    {"text", "hello, there", "byte 0: begins with \"hello, t\", expected"},
    {"flac", std::string("fLaC\0\0\0\x10", 8), "begins with \"fLaC\\x00\\x00\\x00\\x10\" (FLAC)"},
    {"ogg", "OggS1234", "(Ogg)"},
    {"aiff", "FORM1234AIFF", "(AIFF)"},
    {"sphere_cut_before_length", "NIST_1A\n   10", "byte 0: header of 13 bytes, expected 16 or"},
    {"sphere_as_text", "NIST_1A\r\n   1024\r\n" + std::string(2000, ' '),
     "byte 7: \"\\x0D\", expected \"\\x0A\"; the file was changed as if it were text"},
    {"length_no_number", "NIST_1A\n  x024 \n",
     "byte 8: header length \"  x024 \\x0A\", expected a"},
    {"length_small", "NIST_1A\n     15\n", "byte 8: header length \"     15\\x0A\", expected a"},
    {"length_negative", "NIST_1A\n  -1024\n", "header length \"  -1024\\x0A\""},
    {"length_blank", "NIST_1A\n       \n", "header length \"       \\x0A\""},
    {"length_without_end", "NIST_1A\n   10240", "header length \"   10240\""},
    {"length_beyond", sphere_file(kSamples).substr(0, 1000),
     "byte 8: header of 1024 bytes, expected at most the file's 1000; the file is cut"},
    {"no_end_head", sphere_with("end_head\n", ""), "byte 1024: the header ends, expected \"end_"},
    {"line_ends", sphere_with("TIMIT\n", "TIMIT\r\n"), "byte 37: \"\\x0D\", expected lines that"},
    {"no_type", sphere_with("channel_count -i 1", "channel_count 1"),
     "field \"channel_count\" with type \"1\", expected -i, -r or -sN and a value"},
    {"no_value", sphere_with("channel_count -i 1", "channel_count -i"), "with type \"-i\""},
    {"name_only", sphere_with("channel_count -i 1", "channel_count"), "with type \"\", expected"},
    {"type_s", sphere_with("-s5 TIMIT", "-s TIMIT"), "field \"database_id\" with type \"-s\""},
    {"text_long", sphere_with("-s5 TIMIT", "-s6 TIMIT"),
     "byte 16: field \"database_id\" of type \"-s6\", expected at most the 5 characters"},
    {"text_negative", sphere_with("-s5 TIMIT", "-s-5 TIMIT"), "of type \"-s-5\", expected at most"},
    {"twice", sphere_with("sample_rate -i", "channel_count -i"), "\"channel_count\" a second time"},
    {"no_sample_count", sphere_with("sample_count", "samples"),
     "header: has no field sample_count"},
    {"no_sample_rate", sphere_with("sample_rate", "rate"), "header: has no field sample_rate"},
    {"no_channels", sphere_with("channel_count", "c"), "header: has no field channel_count"},
    {"no_bytes", sphere_with("sample_n_bytes", "n"), "header: has no field sample_n_bytes"},
    {"no_byte_format", sphere_with("sample_byte_format", "f"), "has no field sample_byte_format"},
    {"rate", sphere_with("-i 16000", "-i 8000"),
     "sample_rate 8000, expected 16000; convert it with sox"},
    {"rate_real", sphere_with("-i 16000", "-r 16000"),
     "sample_rate \"16000\" of type -r, expected a whole number of type -i"},
    {"stereo", sphere_with("channel_count -i 1", "channel_count -i 2"),
     "channel_count 2, expected 1; convert it with sox"},
    {"one_byte", sphere_with("n_bytes -i 2", "n_bytes -i 1"), "sample_n_bytes 1, expected 2"},
    {"byte_format", sphere_with("-s2 01", "-s2 mu"),
     "sample_byte_format \"mu\", expected \"01\" (little-endian) or \"10\""},
    {"coding_long",
     sphere_with("end_head", "sample_coding -s27 pcm,embedded-shorten-v2.00\nend_head"),
     "of type \"-s27\", expected at most the 26"},
    {"shorten", sphere_with("end_head", "sample_coding -s26 pcm,embedded-shorten-v2.00\nend_head"),
     "expected \"pcm\": this is compressed SPHERE; convert it with sox or sph2pipe"},
    {"ulaw", sphere_with("end_head", "sample_coding -s4 ulaw\nend_head"),
     "sample_coding \"ulaw\", expected \"pcm\""},
    {"count_short", sphere_with("count -i 6", "count -i 5"),
     "sample_count 5, expected 6 for the 12 bytes after the header"},
    {"count_long", sphere_with("count -i 6", "count -i 7"),
     "sample_count 7, expected 6 for the 12"},
    {"count_zero", sphere_with("count -i 6", "count -i 0"), "sample_count 0, expected 6"},
    {"count_negative", sphere_with("count -i 6", "count -i -6"), "sample_count -6, expected 6"},
    {"count_huge", sphere_with("count -i 6", "count -i 2147483648"),
     "sample_count 2147483648, expected 6"},
    {"count_wraps", sphere_with("count -i 6", "count -i 9223372036854775807"),
     "sample_count 9223372036854775807, expected 6"},
    {"count_overflow", sphere_with("count -i 6", "count -i 99999999999999999999"),
     "sample_count \"99999999999999999999\" of type -i, expected a whole number"},
    {"odd_byte", sphere_file(kSamples) + "x", "sample_count 6, expected 6 for the 13 bytes"},
    {"no_samples", sphere_file(sphere_fields(0), ""),
     "sample_count 0, expected at least one sample after the header"},
    {"checksum", sphere_with("end_head", "sample_checksum -i 258\nend_head"),
     "sample_checksum 258, expected 257, the samples' sum; the file is damaged"},
    {"riff_cut", "RIFF1234", "byte 0: header of 8 bytes, expected 12; the file is cut"},
    {"riff_avi", "RIFF1234AVI ", "byte 8: form \"AVI \", expected \"WAVE\""},
    {"riff_no_chunk", riff_file(std::string()), "byte 12: the file ends, expected chunk \"fmt \""},
    {"riff_no_data", riff_file(chunk("fmt ", riff_format())),
     "byte 36: the file ends, expected chunk \"data\""},
    {"riff_half_chunk", riff_file("dat"), "byte 12: the file ends, expected a chunk's header"},
    {"riff_data_first", riff_file(chunk("data", "1234")),
     "byte 12: chunk \"data\", expected \"fmt"},
    {"riff_data_cut", riff_file(kSamples).substr(0, 50),
     "byte 40: chunk \"data\" of 12 bytes, expected at most the 6 that follow; the file is cut"},
    {"riff_short_format", riff_file(chunk("fmt ", "12")),
     "byte 20: format of 2 bytes, expected at"},
    {"riff_coding", riff_file(chunk("fmt ", riff_format(7))),
     "byte 20: coding 7, expected 1 (PCM); convert it with sox"},
    {"riff_stereo", riff_file(chunk("fmt ", riff_format(1, 2))), "byte 22: channels 2, expected 1"},
    {"riff_rate", riff_file(chunk("fmt ", riff_format(1, 1, 44'100))),
     "byte 24: sample rate 44100, expected 16000 Hz"},
    {"riff_bits", riff_file(chunk("fmt ", riff_format(1, 1, 16'000, 8))),
     "byte 34: bits a sample 8, expected 16"},
    {"riff_no_samples", riff_file(std::vector<int16_t>()),
     "byte 44: no samples, expected at least"},
    {"riff_odd", riff_file(chunk("fmt ", riff_format()) + chunk("data", "123")),
     "byte 44: samples of 3 bytes, expected 2 bytes a sample"},
};

class EveryBadWave : public testing::TestWithParam<BadFile> {};
INSTANTIATE_TEST_SUITE_P(Wave, EveryBadWave, testing::ValuesIn(kBadFiles),
                         [](const auto& row) { return row.param.name; });

TEST_P(EveryBadWave, SaysWhatIsWrongAndWhere) {
  const std::string message = failure([&] { parse(GetParam().file); });
  EXPECT_TRUE(message.starts_with("a/b.WAV: ")) << message;
  EXPECT_TRUE(contains(message, GetParam().message)) << message;
  EXPECT_FALSE(contains(message, "\n"));
}

TEST(Wave, WithAnyFaultIsReadOrRefused) {
  constexpr int kMutations = 5000;
  Random random(3);
  for (const auto& file : {sphere_file(tests::sine(400)), riff_file(tests::sine(400))}) {
    const std::vector<uint8_t> whole(file.begin(), file.end());
    int refused = 0;
    for (int i = 0; i < kMutations; ++i) {
      const auto bytes = tests::mutated(whole, random);
      const auto message = failure([&] {
        const auto wave = parse_wave(bytes, "a/b.WAV");
        ASSERT_FALSE(wave.samples.empty());
        ASSERT_LE(wave.samples.size(), bytes.size() / 2);
      });
      if (message == "no error") continue;
      ++refused;
      ASSERT_TRUE(message.starts_with("a/b.WAV: ")) << message;
      ASSERT_FALSE(contains(message, "\n"));
    }
    EXPECT_GT(refused, kMutations / 4);
    EXPECT_LT(refused, kMutations);
  }
}

}  // namespace
}  // namespace fathom::fixtures
