#include "fixtures/babi.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "fixtures/babi_stories.h"
#include "fixtures/babi_text.h"
#include "fixtures/random.h"
#include "tests/babi_files.h"
#include "tests/messages.h"
#include "tests/mutations.h"
#include "tests/temporary_folder.h"

namespace fathom::fixtures {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int64_t>;
using tests::contains;
using tests::failure;
using tests::kTwoStories;

constexpr const char* kTraining = "babi/qa1_single-supporting-fact_train.txt";
constexpr const char* kTest = "babi/qa1_single-supporting-fact_test.txt";

Ids ids(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  const auto* begin = flat.const_data_ptr<int64_t>();
  return {begin, begin + flat.numel()};
}

// ---- made-up stories

TEST(BabiStories, FollowTheGrammarOfTaskOne) {
  const auto stories = parse_babi(babi_stories(200, 1), "synthetic");
  ASSERT_EQ(stories.size(), 200U);
  std::set<std::string> words;
  std::map<std::size_t, int> lengths;
  std::map<std::string, int> answers;
  std::size_t longest = 0;
  for (const auto& story : stories) {
    ASSERT_EQ(story.statements.size(), 10U);
    ASSERT_EQ(story.questions.size(), 5U);
    for (const auto& statement : story.statements) {
      words.insert(statement.words.begin(), statement.words.end());
      longest = std::max(longest, statement.words.size());
      EXPECT_GE(statement.words.size(), 5U);
    }
    for (const auto& question : story.questions) {
      const auto& asked = question.sentence.words;
      words.insert(asked.begin(), asked.end());
      ++lengths[question.known];
      ++answers[question.answer];
      std::string place = "nowhere";
      for (std::size_t i = 0; i < question.known; ++i) {
        const auto& told = story.statements[i].words;
        if (told.front() == asked.back()) place = told.back();
      }
      EXPECT_EQ(question.answer, place);
    }
  }
  EXPECT_EQ(words.size(), 19U);
  EXPECT_EQ(longest, 6U);
  EXPECT_EQ(lengths,
            (std::map<std::size_t, int>{{2, 200}, {4, 200}, {6, 200}, {8, 200}, {10, 200}}));
  EXPECT_EQ(answers.size(), 6U);
  for (const auto& [place, count] : answers) EXPECT_NEAR(count, 1000 / 6.0, 50) << place;
}

TEST(BabiStories, NameTheSupportingLine) {
  const std::string text = babi_stories(1, 3);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  }
  ASSERT_EQ(lines.size(), 15U);
  for (std::size_t i = 2; i < lines.size(); i += 3) {
    const auto support = std::stoul(lines[i].substr(lines[i].rfind('\t') + 1));
    const auto first = lines[i].find('\t') + 1;
    const std::string answer = lines[i].substr(first, lines[i].rfind('\t') - first);
    EXPECT_TRUE(lines.at(support - 1).ends_with(" to the " + answer + ".")) << lines[i];
  }
}

TEST(SyntheticStories, AreBatchesOfIds) {
  for (const bool training : {true, false}) {
    const Pool pool = stories({}, {.batch = 32, .count = 40, .seed = 1, .training = training});
    ASSERT_EQ(pool.batches.size(), 40U);
    EXPECT_EQ(pool.skipped_items, 0);
    Ids lengths(11);
    std::set<int64_t> seen;
    for (const auto& batch : pool.batches) {
      ASSERT_EQ(batch.size(), 3U);
      EXPECT_EQ(batch[kStories].sizes(), (Ids{32, 10, 6}));
      EXPECT_EQ(batch[kQuestions].sizes(), (Ids{32, 6}));
      EXPECT_EQ(batch[kAnswers].sizes(), (Ids{32}));
      for (const auto& tensor : batch) {
        EXPECT_EQ(tensor.scalar_type(), at::kLong);
        EXPECT_TRUE(tensor.is_contiguous());
        for (const int64_t id : ids(tensor)) seen.insert(id);
      }
      for (const int64_t length : ids(batch[kStories].select(2, 0).ne(0).sum(1))) {
        ++lengths[static_cast<std::size_t>(length)];
      }
      EXPECT_GT(batch[kAnswers].min().item<int64_t>(), 0);
    }
    EXPECT_EQ(seen.size(), 20U);
    EXPECT_EQ(*seen.rbegin(), 19);
    for (const std::size_t length : {2U, 4U, 6U, 8U, 10U}) {
      EXPECT_EQ(lengths[length], 256);
      EXPECT_EQ(lengths[length - 1], 0);
    }
  }
}

TEST(SyntheticStories, AreTheSameForTheSameSeed) {
  const PoolRequest request{.batch = 32, .count = 2, .seed = 7};
  const auto first = stories({}, request).batches;
  const auto second = stories({}, request).batches;
  for (const auto field : {kStories, kQuestions, kAnswers}) {
    EXPECT_TRUE(at::equal(first[1][field], second[1][field]));
  }
  const auto other = stories({}, {.batch = 32, .seed = 8}).batches;
  EXPECT_FALSE(at::equal(first[0][kStories], other[0][kStories]));
}

TEST(SyntheticStories, FitAnyLargerShapeAndKeepTheLastSentences) {
  const auto all = stories({}, {.batch = 50, .seed = 1}).batches[0];
  const auto wide =
      stories({.sentences = 50, .words = 11, .vocabulary = 40}, {.batch = 50, .seed = 1})
          .batches[0];
  EXPECT_EQ(wide[kStories].sizes(), (Ids{50, 50, 11}));
  EXPECT_TRUE(at::equal(wide[kStories].narrow(1, 0, 10).narrow(2, 0, 6), all[kStories]));
  EXPECT_EQ(wide[kStories].sum().item<int64_t>(), all[kStories].sum().item<int64_t>());
  const auto few = stories({.sentences = 3}, {.batch = 50, .seed = 1}).batches[0];
  for (int64_t i = 0; i < 50; ++i) {
    const int64_t length = all[kStories][i].select(1, 0).ne(0).sum().item<int64_t>();
    const int64_t kept = std::min<int64_t>(length, 3);
    EXPECT_TRUE(at::equal(few[kStories][i].narrow(0, 0, kept),
                          all[kStories][i].narrow(0, length - kept, kept)));
  }
}

// ---- files

class Babi : public testing::Test {
 protected:
  Babi() {
    data.write(kTraining, kTwoStories);
    data.write(kTest, std::string("1 Mary moved to the garden.\n2 Where is Mary?\tgarden\t1\n"));
  }

  PoolRequest request(int64_t batch = 3, bool training = true) {
    PoolRequest request{.batch = batch, .count = 1, .seed = 1, .training = training, .source = {}};
    request.source.directory = data.path();
    request.source.progress = [this](const std::string& text) { progress.push_back(text); };
    return request;
  }

  std::string read_failure(const PoolRequest& request, const StoryShape& shape = {}) {
    return failure([&] { stories(shape, request); });
  }

  tests::TemporaryFolder data;
  std::vector<std::string> progress;
};

// Both files' words, sorted.
enum Id : int64_t {
  kBack = 1,
  kBathroom,
  kDaniel,
  kGarden,
  kHallway,
  kIs,
  kJohn,
  kMary,
  kMoved,
  kOffice,
  kSandra,
  kThe,
  kTo,
  kTravelled,
  kWent,
  kWhere,
};

TEST_F(Babi, IsEncodedWithRanksOfBothFilesWords) {
  const auto test = stories({.sentences = 2}, request(1, /*training=*/false)).batches[0];
  EXPECT_EQ(ids(test[kStories]), (Ids{kMary, kMoved, kTo, kThe, kGarden, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(ids(test[kQuestions]), (Ids{kWhere, kIs, kMary, 0, 0, 0}));
  EXPECT_EQ(ids(test[kAnswers]), (Ids{kGarden}));

  const auto batch = stories({.sentences = 2}, request()).batches[0];
  const std::map<int64_t, Ids> expected{
      {kBathroom, {kMary, kMoved, kTo, kThe, kBathroom, 0, kJohn, kWent, kTo, kThe, kHallway, 0}},
      {kHallway,
       {kJohn, kWent, kTo, kThe, kHallway, 0, kDaniel, kWent, kBack, kTo, kThe, kHallway}},
      {kOffice, {kSandra, kTravelled, kTo, kThe, kOffice, 0, 0, 0, 0, 0, 0, 0}}};
  std::map<int64_t, Ids> found;
  for (int64_t i = 0; i < 3; ++i) {
    found[batch[kAnswers][i].item<int64_t>()] = ids(batch[kStories][i]);
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(progress.front(), "reading babi qa1_single-supporting-fact_train.txt");
}

TEST_F(Babi, IsTakenInOrderAndFromTheStartAgain) {
  auto requested = request(/*batch=*/2);
  requested.count = 3;
  const Ids order{kBathroom, kHallway, kOffice};
  std::set<int64_t> firsts;
  for (requested.seed = 0; requested.seed < 20; ++requested.seed) {
    Ids answers;
    for (const auto& batch : stories({}, requested).batches) {
      for (const int64_t answer : ids(batch[kAnswers])) answers.push_back(answer);
    }
    const auto first = std::find(order.begin(), order.end(), answers[0]) - order.begin();
    firsts.insert(first);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(answers[i], order[(static_cast<std::size_t>(first) + i) % 3]);
    }
  }
  EXPECT_EQ(firsts.size(), 3U);
}

TEST_F(Babi, ReadsItsOwnStoriesBack) {
  const auto made = stories({}, {.batch = 100, .seed = 4}).batches[0];
  for (const char* part : {"train", "test"}) {
    data.write(part == std::string("train") ? kTraining : kTest,
               babi_stories(200, seed_for(4, std::string("synthetic babi ") + part)));
  }
  auto requested = request(/*batch=*/100);
  requested.seed = 4;
  const auto read = stories({}, requested).batches[0];
  for (const auto field : {kStories, kQuestions, kAnswers}) {
    EXPECT_TRUE(at::equal(made[field], read[field]));
  }
}

TEST_F(Babi, IsAlsoFoundInTheFolderOfItsLanguage) {
  fs::create_directories(data.path() / "babi/en");
  fs::rename(data.path() / kTraining, data.path() / "babi/en/qa1_a_train.txt");
  fs::rename(data.path() / kTest, data.path() / "babi/en/qa1_a_test.txt");
  data.write("babi/en/qa10_b_train.txt", std::string("x"));
  EXPECT_EQ(read_failure(request()), "no error");
}

TEST_F(Babi, MissingSaysWhatWasExpected) {
  const std::string layout =
      ", expected babi/qa1_*_train.txt and babi/qa1_*_test.txt (--fathom_data)";
  const std::string folder = data.path() / "babi";
  fs::remove(data.path() / kTest);
  EXPECT_EQ(read_failure(request()), folder + ": has no qa1_*_test.txt" + layout);
  fs::remove(data.path() / kTraining);
  EXPECT_EQ(read_failure(request()), folder + ": has no qa1_*_train.txt" + layout);
  fs::create_directories(data.path() / "babi/en");
  EXPECT_EQ(read_failure(request()), folder + "/en: has no qa1_*_train.txt" + layout);
  fs::remove_all(folder);
  EXPECT_EQ(read_failure(request()), folder + ": does not exist" + layout);
  data.write("babi", std::string("x"));
  EXPECT_EQ(read_failure(request()), folder + ": is not a directory" + layout);
}

TEST_F(Babi, OfTwoFilesIsAmbiguous) {
  data.write("babi/qa1_a_train.txt", kTwoStories);
  const std::string message = read_failure(request());
  EXPECT_TRUE(contains(message, "/babi: has 2 files qa1_*_train.txt, expected one: "));
  EXPECT_TRUE(contains(message, "babi/qa1_a_train.txt, "));
}

TEST_F(Babi, ThatIsADirectoryIsNoFile) {
  fs::remove(data.path() / kTraining);
  fs::create_directories(data.path() / kTraining);
  EXPECT_TRUE(contains(read_failure(request()), "_train.txt: is not a regular file"));
}

TEST_F(Babi, MalformedEndsTheLoadWhicheverFileItIs) {
  for (const char* name : {kTraining, kTest}) {
    data.write(name, std::string("2 Mary moved.\n"));
    EXPECT_EQ(read_failure(request()),
              (data.path() / name).string() + ": line 1: found number 2, expected 1");
    data.write(name, kTwoStories);
  }
}

TEST_F(Babi, LargerThanTheShapeIsRefused) {
  EXPECT_EQ(read_failure(request(), {.words = 5}),
            (data.path() / kTraining).string() +
                ": line 4: 6 words, expected at most 5, for which this workload is built");
  const std::string message = read_failure(request(), {.vocabulary = 16});
  EXPECT_TRUE(contains(message, kTraining));
  EXPECT_TRUE(contains(message, kTest));
  EXPECT_TRUE(contains(message, ": a vocabulary of 17 with nil, expected at most 16"));
  EXPECT_EQ(read_failure(request(), {.vocabulary = 17}), "no error");
}

TEST_F(Babi, WithFewerQuestionsThanABatchIsRefused) {
  EXPECT_EQ(read_failure(request(4)), (data.path() / kTraining).string() +
                                          ": has 3 questions, expected at least a batch of 4 "
                                          "(--fathom_batch)");
  EXPECT_TRUE(contains(read_failure(request(2, /*training=*/false)), "_test.txt: has 1 questions"));
}

TEST_F(Babi, WithAnyFaultIsReadOrRefused) {
  constexpr int kMutations = 4000;
  const std::string text = babi_stories(5, 1);
  const std::vector<uint8_t> whole(text.begin(), text.end());
  Random random(11);
  int refused = 0;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < kMutations; ++i) {
    data.write(kTraining, tests::mutated(whole, random));
    const std::string message = read_failure(request(1), {.words = 12, .vocabulary = 60});
    if (message == "no error") continue;
    ++refused;
    ASSERT_TRUE(contains(message, (data.path() / "babi").string())) << message;
    ASSERT_FALSE(contains(message, "\n"));
  }
  EXPECT_GT(refused, kMutations / 3);
  EXPECT_LT(refused, kMutations);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(100));
}

}  // namespace
}  // namespace fathom::fixtures
