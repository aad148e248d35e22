#include "fixtures/phones.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/messages.h"
#include "tests/mutations.h"

namespace fathom::fixtures {
namespace {

using tests::contains;
using tests::failure;

const std::string kText = "0 3050 h#\n3050 4559 sh\n4559 5723 ix\n5723 6642 ax-h\n6642 8000 h#\n";

TEST(Phones, AreSixtyOneInTheCorpusOrder) {
  EXPECT_EQ(std::set(kPhoneSymbols.begin(), kPhoneSymbols.end()).size(), 61U);
  EXPECT_EQ(kPhoneSymbols[0], "b");
  EXPECT_EQ(kPhoneSymbols[16], "s");
  EXPECT_EQ(kPhoneSymbols[38], "iy");
  EXPECT_EQ(kPhoneSymbols[60], "h#");
}

TEST(Phones, AreReadWithTheirTimes) {
  const auto [phones, remark] = parse_phones(kText, 8000, "a.PHN");
  ASSERT_EQ(phones.size(), 5U);
  EXPECT_EQ(phones[0].symbol, 60);
  EXPECT_EQ(phones[1].symbol, 17);
  EXPECT_EQ(phones[1].begin, 3050);
  EXPECT_EQ(phones[1].end, 4559);
  EXPECT_EQ(phones[3].symbol, 57);
  EXPECT_EQ(remark, "");
}

TEST(Phones, AreReadLeniently) {
  const auto [phones, remark] = parse_phones("10  20 h#\r\n30 40 b ", 40, "a.PHN");
  ASSERT_EQ(phones.size(), 2U);
  EXPECT_EQ(phones[1].symbol, 0);
}

TEST(Phones, MayEndAFrameLate) {
  EXPECT_EQ(parse_phones(kText, 8000 - 80, "a.PHN").remark,
            "a.PHN: line 5: ends at sample 8000, expected at most 7920, the waveform's samples");
}

struct BadText {
  const char* name;
  std::string text;
  const char* message;
};

void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.name; }

const BadText kBadTexts[]{
    {"empty", "", "line 1: the file is empty, expected begin, end and phone"},
    {"two_columns", "0 10 h#\n10 20\n", "line 2: has 2 columns in \"10 20\", expected 3: begin"},
    {"four_columns", "0 10 h# x\n", "line 1: has 4 columns in \"0 10 h# x\""},
    {"blank_line", "0 10 h#\n\n10 20 b\n", "line 2: has 0 columns in \"\""},
    {"begin", "x 10 h#\n", "line 1: begin \"x\", expected the number of a sample"},
    {"begin_negative", "-1 10 h#\n", "line 1: begin \"-1\", expected the number of a sample"},
    {"end", "0 1.5 h#\n", "line 1: end \"1.5\", expected the number of a sample"},
    {"overflow", "0 99999999999999999999 h#\n", "line 1: end \"99999999999999999999\", expected"},
    {"backwards", "0 10 h#\n20 15 b\n",
     "line 2: begins at sample 20 and ends at 15, expected an end after the beginning"},
    {"nothing", "10 10 h#\n", "line 1: begins at sample 10 and ends at 10"},
    {"overlap", "0 10 h#\n9 20 b\n",
     "line 2: begins at sample 9, expected at least 10, where the phone before it ends"},
    {"late", "0 10 h#\n10 8081 b\n",
     "line 2: ends at sample 8081, expected at most 8000, the waveform's samples"},
    {"very_late", "0 9223372036854775807 h#\n", "line 1: ends at sample 9223372036854775807"},
    {"unknown", "0 10 h#\n10 20 oh\n",
     "line 2: phone \"oh\", expected one of the 61 TIMIT symbols"},
    {"upper_case", "0 10 SH\n", "line 1: phone \"SH\""},
    {"bytes", "0 10 \xFF\n", "line 1: phone \"\\xFF\""},
};

class EveryBadText : public testing::TestWithParam<BadText> {};
INSTANTIATE_TEST_SUITE_P(Phones, EveryBadText, testing::ValuesIn(kBadTexts),
                         [](const auto& row) { return row.param.name; });

TEST_P(EveryBadText, SaysWhatIsWrongInWhichLine) {
  const std::string message = failure([&] { parse_phones(GetParam().text, 8000, "folder/a.PHN"); });
  EXPECT_TRUE(message.starts_with("folder/a.PHN: ")) << message;
  EXPECT_TRUE(contains(message, GetParam().message)) << message;
  EXPECT_FALSE(contains(message, "\n"));
}

TEST(Phones, WithAnyFaultAreReadOrRefused) {
  constexpr int kMutations = 5000;
  const std::vector<uint8_t> whole(kText.begin(), kText.end());
  Random random(5);
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    const auto bytes = tests::mutated(whole, random);
    const std::string text(bytes.begin(), bytes.end());
    const auto message = failure([&] {
      for (const auto& phone : parse_phones(text, 8000, "a.PHN").phones) {
        ASSERT_LT(phone.begin, phone.end);
        ASSERT_LE(phone.end, 8080);
      }
    });
    if (message == "no error") continue;
    ++refused;
    ASSERT_TRUE(message.starts_with("a.PHN: line ")) << message;
    ASSERT_FALSE(contains(message, "\n"));
  }
  EXPECT_GT(refused, kMutations / 4);
  EXPECT_LT(refused, kMutations);
}

}  // namespace
}  // namespace fathom::fixtures
