#include "fixtures/wmt_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/messages.h"

namespace fathom::fixtures {
namespace {

using namespace std::string_literals;
using tests::failure;
using Ids = std::vector<int64_t>;
using Words = std::vector<std::string>;

TEST(WordsOf, ASentenceAreCutAtSeparators) {
  EXPECT_EQ(words_of("He said: \"Don't (go); stay, will you?!\" twice."),
            (Words{"He", "said", ":", "\"",   "Don", "'", "t", "(",  "go",    ")",
                   ";",  "stay", ",", "will", "you", "?", "!", "\"", "twice", "."}));
  EXPECT_EQ(words_of("a-b/c #d [e] {f} $g %h \\i"),
            (Words{"a-b/c", "#d", "[e]", "{f}", "$g", "%h", "\\i"}));
  EXPECT_EQ(words_of("..."), (Words{".", ".", "."}));
}

TEST(WordsOf, ASentenceHaveNoDigitButZero) {
  EXPECT_EQ(words_of("In 1999 3,000.50 B2B 7th"),
            (Words{"In", "0000", "0", ",", "000", ".", "00", "B0B", "0th"}));
}

TEST(WordsOf, ASentenceArePartedByWhiteSpaceOfAscii) {
  EXPECT_EQ(words_of(" \t a\vb\fc\rd \n e  "), (Words{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(words_of(""), Words{});
  EXPECT_EQ(words_of(" \r\t\v\f\n "), Words{});
}

TEST(WordsOf, ASentenceKeepOtherBytesAndCase) {
  const std::string no_break = "\xC2\xA0";
  EXPECT_EQ(words_of("L'\xC3\x89t\xC3\xA9" + no_break + ": \xE2\x80\xA8 \xFF\xC3 \xC2\x85 x\0y"s),
            (Words{"L", "'", "\xC3\x89t\xC3\xA9" + no_break, ":", "\xE2\x80\xA8", "\xFF\xC3",
                   "\xC2\x85", "x\0y"s}));
}

constexpr const char* kWords = "_PAD\n_GO\n_EOS\n_UNK\nthe\n.\n";

TEST(AVocabulary, GivesTheNumberOfALine) {
  const std::string text = kWords;
  std::string returns;
  for (const char c : text) returns += c == '\n' ? "\r\n" : std::string(1, c);
  for (const auto& file : {text, text.substr(0, text.size() - 1), "\xEF\xBB\xBF" + text, returns}) {
    const Vocabulary vocabulary(file, "v.en", 6);
    EXPECT_EQ(vocabulary.id("_PAD"), 0);
    EXPECT_EQ(vocabulary.id("_UNK"), 3);
    EXPECT_EQ(vocabulary.id("the"), 4);
    EXPECT_EQ(vocabulary.id("."), 5);
    EXPECT_EQ(vocabulary.id("The"), 3);
    EXPECT_EQ(vocabulary.id(""), 3);
  }
}

TEST(AVocabulary, TakesAnyBytes) {
  const std::string word = "\xFF\0\xE2\x80\xA8"s;
  EXPECT_EQ(Vocabulary(kWords + word, "v.en", 10).id(word), 6);
}

struct BadVocabulary {
  const char* name;
  std::string text;
  std::string message;
};

void PrintTo(const BadVocabulary& bad, std::ostream* out) { *out << bad.name; }

const std::string kFew = " lines, expected at least 5: _PAD, _GO, _EOS, _UNK and words";
const std::string kMany = " lines, expected at most 6, for which this workload is built";
const std::string kFour = "_PAD\n_GO\n_EOS\n_UNK\n";

const BadVocabulary kBadVocabularies[]{
    {"empty", "", "has 0" + kFew},
    {"mark", "\xEF\xBB\xBF", "has 0" + kFew},
    {"short", kFour, "has 4" + kFew},
    {"large", kFour + "a\nb\nc\n", "has 7" + kMany},
    {"large_by_an_empty_line", kFour + "a\nb\n\n", "has 7" + kMany},
    {"first", "the\n_GO\n_EOS\n_UNK\nx", "line 1: found \"the\", expected \"_PAD\""},
    {"second", "_PAD\n_EOS\n_GO\n_UNK\nx", "line 2: found \"_EOS\", expected \"_GO\""},
    {"fourth", "_PAD\n_GO\n_EOS\n_unk\nx", "line 4: found \"_unk\", expected \"_UNK\""},
    {"blank", "_PAD \n_GO\n_EOS\n_UNK\nx", "line 1: found \"_PAD \", expected \"_PAD\""},
    {"twice", kFour + "\xC3\xA9\n\xC3\xA9\n",
     "line 6: found \"\\xC3\\xA9\" again, expected it on line 5 only"},
    {"special_twice", kFour + "_GO\n", "line 5: found \"_GO\" again, expected it on line 2 only"},
    {"no_word", kFour + "\nx\n", "line 5: is empty, expected a word"},
    {"return_only", kFour + "x\n\r\n", "line 6: is empty, expected a word"},
};

class EveryBadVocabulary : public testing::TestWithParam<BadVocabulary> {};
INSTANTIATE_TEST_SUITE_P(WmtText, EveryBadVocabulary, testing::ValuesIn(kBadVocabularies),
                         [](const auto& row) { return row.param.name; });

TEST_P(EveryBadVocabulary, SaysWhatIsWrongInWhichLine) {
  EXPECT_EQ(failure([] { Vocabulary(GetParam().text, "v.en", 6); }), "v.en: " + GetParam().message);
}

TEST(LinesOfIds, AreNumbersApartByBlanks) {
  EXPECT_EQ(parse_ids("0 9 007", 10, "a.en", 1), (Ids{0, 9, 7}));
  EXPECT_EQ(parse_ids("  4\t5 \r", 10, "a.en", 1), (Ids{4, 5}));
  EXPECT_EQ(parse_ids("", 10, "a.en", 1), Ids{});
  EXPECT_EQ(parse_ids(" \t", 10, "a.en", 1), Ids{});
}

TEST(LinesOfIds, NameTheWrongOne) {
  for (const std::string wrong : {"10", "-1", "x", "4x", "1.5", "+4", "0x4", "--4", "4,5",
                                  "9223372036854775808", "-9223372036854775809", "\xFF"}) {
    const std::string message = failure([&] { parse_ids("4 " + wrong + " 5", 10, "a.en", 7); });
    const std::string shown = wrong == "\xFF" ? "\\xFF" : wrong;
    EXPECT_EQ(message, "a.en: line 7: found \"" + shown +
                           "\", expected an id from 0 to 9, for which this workload is built");
  }
}

TEST(LinesOfIds, MayBeOfTheLargestVocabulary) {
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(parse_ids("9223372036854775806", kMost, "a.en", 1), Ids{kMost - 1});
}

}  // namespace
}  // namespace fathom::fixtures
