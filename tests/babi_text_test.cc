#include "fixtures/babi_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/babi_files.h"
#include "tests/messages.h"

namespace fathom::fixtures {
namespace {

using Words = std::vector<std::string>;
using tests::contains;
using tests::failure;
using tests::kTwoStories;

TEST(BabiText, IsStoriesOfStatementsAndQuestions) {
  const auto stories = parse_babi(kTwoStories, "a.txt");
  ASSERT_EQ(stories.size(), 2U);
  ASSERT_EQ(stories[0].statements.size(), 3U);
  ASSERT_EQ(stories[0].questions.size(), 2U);
  EXPECT_EQ(stories[0].statements[2].words,
            (Words{"daniel", "went", "back", "to", "the", "hallway"}));
  EXPECT_EQ(stories[0].statements[2].line, 4);
  EXPECT_EQ(stories[0].questions[0].sentence.words, (Words{"where", "is", "mary"}));
  EXPECT_EQ(stories[0].questions[0].answer, "bathroom");
  EXPECT_EQ(stories[0].questions[0].known, 2U);
  EXPECT_EQ(stories[0].questions[1].known, 3U);
  EXPECT_EQ(stories[1].statements[0].line, 6);
  EXPECT_EQ(stories[1].questions[0].answer, "office");
}

TEST(BabiText, IsReadLeniently) {
  const auto stories = parse_babi(
      "1 Fred, Bill: got  the_ball 2 times.\r\n2 What?! is it\tFootball,Apple\r\n"
      "3 Who \t bill \t\r\n4 Why?\tn\t1 2  3",
      "a.txt");
  ASSERT_EQ(stories.size(), 1U);
  const auto& questions = stories[0].questions;
  EXPECT_EQ(stories[0].statements[0].words,
            (Words{"fred", ",", "bill", ":", "got", "the_ball", "2", "times"}));
  EXPECT_EQ(questions[0].sentence.words, (Words{"what", "?!", "is", "it"}));
  EXPECT_EQ(questions[0].answer, "football,apple");
  EXPECT_EQ(questions[1].sentence.words, (Words{"who"}));
  EXPECT_EQ(questions[1].answer, "bill");
  EXPECT_EQ(questions[2].sentence.words, (Words{"why"}));
}

TEST(BabiText, KeepsBytesBeyondAscii) {
  const auto stories = parse_babi("1 M\xFCLLER go\xC3\x96s.\n2 W\xFF?\t\x80\xE9\n", "a.txt");
  EXPECT_EQ(stories[0].statements[0].words, (Words{"m\xFCller", "go\xC3\x96s"}));
  EXPECT_EQ(stories[0].questions[0].sentence.words, (Words{"w\xFF"}));
  EXPECT_EQ(stories[0].questions[0].answer, "\x80\xE9");
}

struct BadText {
  const char* name;
  std::string text;
  const char* message;
};

void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.name; }

const std::string kFact = "1 Mary moved.\n";

const BadText kBadTexts[]{
    {"empty", "", "has no question in 0 lines, expected a file of bAbI"},
    {"no_question", kFact + kFact, "has no question in 2 lines"},
    {"no_number", kFact + "Mary moved.\n",
     "line 2: begins with \"Mary\", expected a line number and a blank"},
    {"blank_line", kFact + "\n", "line 2: begins with \"\", expected a line number"},
    {"two_blanks_first", " 1 Mary moved.\n", "line 1: begins with \"\", expected a line number"},
    {"half_a_number", "1x Mary moved.\n", "line 1: begins with \"1x\", expected a line number"},
    {"signed_number", "+1 Mary moved.\n", "line 1: begins with \"+1\""},
    {"negative", "-1 Mary moved.\n", "line 1: found number -1, expected 1"},
    {"no_blank", "1\tMary moved.\n", "line 1: begins with \"1\\x09Mary\""},
    {"bytes", "\xEF\xBB\xBF" + kFact,
     "line 1: begins with \"\\xEF\\xBB\\xBF"
     "1\""},
    {"long_word", std::string(100, 'a'), "line 1: begins with \"aaaaaaaaaaaaaaaaaaaa...\""},
    {"zero", "0 Mary moved.\n", "line 1: found number 0, expected 1"},
    {"overflow", kFact + "99999999999999999999 Mary moved.\n",
     "line 2: begins with \"99999999999999999999\", expected a line number"},
    {"not_one_first", "2 Mary moved.\n", "line 1: found number 2, expected 1"},
    {"gap", kFact + "9 Mary moved.\n", "line 2: found number 9, expected 1 or 2"},
    {"back", kFact + "2 Mary moved.\n3 Mary moved.\n2 Mary moved.\n",
     "line 4: found number 2, expected 1 or 4"},
    {"question_first", "1 Where is Mary?\tkitchen\t1\n",
     "line 1: a question before any statement, expected a statement"},
    {"question_first_in_story", kFact + "2 Who?\tmary\n1 Who?\tmary\n",
     "line 3: a question before any statement"},
    {"empty_answer", kFact + "2 Where is Mary?\t \t1\n",
     "line 2: field 2: the answer is empty, expected a word"},
    {"fields", kFact + "2 Where is Mary?\tkitchen\t1\tx\n",
     "line 2: has 4 fields between tabs, expected 1 (a statement) to 3"},
    {"support_itself", kFact + "2 Where is Mary?\tkitchen\t1 2\n",
     "line 2: field 3: supporting line \"2\", expected a number from 1 to 1"},
    {"support_zero", kFact + "2 Where is Mary?\tkitchen\t0\n", "field 3: supporting line \"0\""},
    {"support_word", kFact + "2 Where is Mary?\tkitchen\tx1\n", "field 3: supporting line \"x1\""},
    {"empty_sentence", kFact + "2 .\n", "line 2: has no words, expected a statement or a question"},
    {"number_only", "1\n", "line 1: has no words"},
    {"empty_question", kFact + "2 ?\tkitchen\t1\n", "line 2: has no words"},
    {"long_line", kFact + "2 " + std::string(65'535, 'a') + "\n",
     "line 2: has 65537 bytes, expected at most 65536"},
    {"zero_byte", kFact + "2 Mary" + std::string(1, '\0') + " moved.\n",
     "line 2: has a zero byte, expected text"},
};

class EveryBadText : public testing::TestWithParam<BadText> {};
INSTANTIATE_TEST_SUITE_P(BabiText, EveryBadText, testing::ValuesIn(kBadTexts),
                         [](const auto& row) { return row.param.name; });

TEST_P(EveryBadText, SaysWhatIsWrongInWhichLine) {
  const std::string message = failure([&] { parse_babi(GetParam().text, "folder/a.txt"); });
  EXPECT_TRUE(message.starts_with("folder/a.txt: ")) << message;
  EXPECT_TRUE(contains(message, GetParam().message)) << message;
  EXPECT_FALSE(contains(message, "\n"));
}

}  // namespace
}  // namespace fathom::fixtures
