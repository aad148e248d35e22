#include "fixtures/wmt.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/line_reader.h"
#include "fixtures/random.h"
#include "tests/messages.h"
#include "tests/mutations.h"
#include "tests/temporary_folder.h"

namespace fathom::fixtures {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using tests::contains;
using Ids = std::vector<int64_t>;
using IdPair = std::pair<Ids, Ids>;

const std::string kTraining = "wmt/giga-fren.release2.fixed";
const std::string kTest = "wmt/newstest2013";
const std::string kIds = ".ids40000";
const std::string kVocabulary = "wmt/vocab40000";
const std::string kSpecial = "_PAD\n_GO\n_EOS\n_UNK\n";
const PairShape kSmallest{.bucket = 0};

std::string times(int64_t count, const std::string& line) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += line;
  return text;
}

/// The different rows of a batch, without padding, start and end, as they were in the files.
std::set<IdPair> pairs_of(const Batch& batch) {
  std::set<IdPair> pairs;
  for (int64_t n = 0; n < batch[kSourceIds].size(1); ++n) {
    IdPair pair;
    const at::Tensor source = batch[kSourceIds].select(1, n).contiguous();
    const at::Tensor target = batch[kTargetIds].select(1, n).contiguous();
    for (int64_t t = source.numel(); t-- > 0;) {
      const auto id = source.const_data_ptr<int64_t>()[t];
      if (id != kPadding) pair.first.push_back(id);
    }
    for (int64_t t = 1; t < target.numel() && target.const_data_ptr<int64_t>()[t] != kEnd; ++t) {
      pair.second.push_back(target.const_data_ptr<int64_t>()[t]);
    }
    pairs.insert(std::move(pair));
  }
  return pairs;
}

class Wmt : public testing::Test {
 protected:
  // English: the 4, . 5, the comma 6, 00 7, cat 8, sleeps 9, an e with an accent 10.
  Wmt() {
    write_both(kVocabulary, kSpecial + "the\n.\n,\n00\ncat\nsleeps\n\xC3\xA9\n",
               kSpecial + "le\n.\n'\nchat\ndort\n");
  }

  void write_both(const std::string& stem, const std::string& source,
                  const std::string& target) const {
    data.write(stem + ".en", source);
    data.write(stem + ".fr", target);
  }

  PoolRequest request(int64_t batch = 32, bool training = true) {
    PoolRequest request{.batch = batch, .count = 1, .seed = 1, .training = training, .source = {}};
    request.source.directory = data.path();
    request.source.progress = [this](const std::string& text) { progress.push_back(text); };
    request.source.warn = [this](const std::string& text) { warnings.push_back(text); };
    return request;
  }

  /// The different pairs that are drawn.
  std::set<IdPair> read(const PairShape& shape = kSmallest, bool training = true) {
    return pairs_of(sentence_pairs(shape, request(200, training)).batches.at(0));
  }
  std::set<IdPair> read(const std::string& source, const std::string& target) {
    write_both(kTraining, source, target);
    return read();
  }
  std::set<IdPair> read_ids(const std::string& source, const std::string& target) {
    write_both(kTraining + kIds, source, target);
    return read();
  }

  std::string failure(const PoolRequest& request, const PairShape& shape = kSmallest) {
    return tests::failure([&] { sentence_pairs(shape, request); });
  }
  std::string failure() { return failure(request()); }
  /// With the first broken item the last.
  std::string strict_failure() {
    auto strict = request();
    strict.source.strict = true;
    return failure(strict);
  }

  std::string path(const std::string& name) const { return data.path() / name; }

  tests::TemporaryFolder data;
  std::vector<std::string> progress;
  std::vector<std::string> warnings;
};

// ---- what is read

TEST_F(Wmt, IsWordsOfTheVocabularies) {
  EXPECT_EQ(read("the cat.\n", "le chat.\n"), (std::set<IdPair>{{{4, 8, 5}, {4, 7, 5}}}));
  EXPECT_EQ(read("The, 19\n", "L'\xC3\xA9t\xC3\xA9!\n"),
            (std::set<IdPair>{{{3, 6, 7}, {3, 6, 3, 3}}}));
  EXPECT_EQ(progress.front(), "reading wmt giga-fren.release2.fixed");
}

TEST_F(Wmt, IsAnotherFileForInference) {
  write_both(kTraining, "the\n", "le\n");
  write_both(kTest, "cat\n", "chat\n");
  EXPECT_EQ(read(kSmallest, /*training=*/true), (std::set<IdPair>{{{4}, {4}}}));
  EXPECT_EQ(read(kSmallest, /*training=*/false), (std::set<IdPair>{{{8}, {7}}}));
}

TEST_F(Wmt, OfIdsNeedsNoVocabulary) {
  fs::remove_all(data.path() / "wmt");
  write_both(kTraining + kIds, "4 39999\n", "5 6 7\n");
  write_both(kTest + kIds, "8\n", "9\n");
  EXPECT_EQ(read(), (std::set<IdPair>{{{4, 39'999}, {5, 6, 7}}}));
  EXPECT_EQ(read(kSmallest, /*training=*/false), (std::set<IdPair>{{{8}, {9}}}));
}

TEST_F(Wmt, OfTextIsPreferred) {
  write_both(kTraining + kIds, "100\n", "100\n");
  EXPECT_EQ(read("the\n", "le\n"), (std::set<IdPair>{{{4}, {4}}}));
}

TEST_F(Wmt, MayHaveCarriageReturnsAndMarks) {
  const std::string mark = "\xEF\xBB\xBF";
  write_both(kVocabulary, mark + "_PAD\r\n_GO\r\n_EOS\r\n_UNK\r\nthe\r\n", mark + kSpecial + "le");
  EXPECT_EQ(read(mark + "the\r\nthe the\r\n", mark + "le\nle le"),
            (std::set<IdPair>{{{4}, {4}}, {{4, 4}, {4, 4}}}));
  fs::remove(path(kTraining + ".en"));
  fs::remove(path(kTraining + ".fr"));
  EXPECT_EQ(read_ids(mark + "5\r\n6", mark + "7\r\n8\r\n"),
            (std::set<IdPair>{{{5}, {7}}, {{6}, {8}}}));
}

TEST_F(Wmt, HasLinesThatEndAtLineFeedsOnly) {
  EXPECT_EQ(read("the\xE2\x80\xA8 cat\nthe\vcat\fcat\n.\xC2\x85\n", "le\nchat\n.\n"),
            (std::set<IdPair>{{{3, 8}, {4}}, {{4, 8, 8}, {7}}, {{5, 3}, {5}}}));
}

TEST_F(Wmt, HasAnyBytes) {
  EXPECT_EQ(read("the \xFF\xFE \0 cat\n\xC3\xA9\n"s, "le\0chat\n\xC3\n"s),
            (std::set<IdPair>{{{4, 3, 3, 8}, {3}}, {{10}, {3}}}));
}

TEST_F(Wmt, GivesEachRowThePairsOfItsBucket) {
  const auto line = [](int64_t words, const std::string& word) {
    return times(words, word + ' ') + '\n';
  };
  std::string source;
  std::string target;
  const std::vector<std::pair<int64_t, int64_t>> sizes{
      {1, 1}, {4, 8}, {5, 8}, {4, 9}, {9, 13}, {19, 23}, {39, 48}, {40, 1}, {1, 49}, {9, 14}};
  for (const auto& [source_words, target_words] : sizes) {
    source += line(source_words, "5");
    target += line(target_words, "6");
  }
  write_both(kTraining + kIds, source, target);
  std::size_t found = 0;
  for (std::size_t bucket = 0; bucket < kBuckets.size(); ++bucket) {
    for (const auto& pair : read({.bucket = bucket})) {
      ++found;
      EXPECT_EQ(bucket_of(std::ssize(pair.first), std::ssize(pair.second)), bucket);
      EXPECT_EQ(std::count(sizes.begin(), sizes.end(),
                           std::pair(std::ssize(pair.first), std::ssize(pair.second))),
                1);
    }
  }
  EXPECT_EQ(found, sizes.size() - 2);
  EXPECT_EQ(strict_failure(), "no error");  // longer ones are not broken
}

// ---- what is drawn

TEST_F(Wmt, IsDrawnWithReplacement) {
  EXPECT_EQ(read_ids("5\n6\n7\n", "8\n9\n10\n"),
            (std::set<IdPair>{{{5}, {8}}, {{6}, {9}}, {{7}, {10}}}));
  EXPECT_EQ(read_ids("5\n", "8\n"), (std::set<IdPair>{{{5}, {8}}}));
}

TEST_F(Wmt, IsTheSameForTheSameSeed) {
  std::string ids;
  for (int i = 5; i < 1000; ++i) ids += std::to_string(i) + '\n';
  write_both(kTraining + kIds, ids, ids);
  auto requested = request(/*batch=*/16);
  requested.count = 3;
  const auto first = sentence_pairs(kSmallest, requested).batches;
  const auto second = sentence_pairs(kSmallest, requested).batches;
  ASSERT_EQ(first.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    for (const auto field : {kSourceIds, kTargetIds, kTargetWeights}) {
      EXPECT_TRUE(at::equal(first[i][field], second[i][field]));
    }
  }
  EXPECT_FALSE(at::equal(first[0][kSourceIds], first[1][kSourceIds]));
  requested.seed = 2;
  const auto other = sentence_pairs(kSmallest, requested).batches;
  EXPECT_FALSE(at::equal(first[0][kSourceIds], other[0][kSourceIds]));
}

// ---- what is missing

std::string layout(const std::string& stem) {
  return ", expected " + stem + ".{en,fr} and wmt/vocab40000.{en,fr}, or " + stem +
         ".ids40000.{en,fr} (--fathom_data)";
}

TEST_F(Wmt, MissingSaysWhatWasExpected) {
  EXPECT_EQ(failure(), path("wmt") + ": has no giga-fren.release2.fixed.en" + layout(kTraining));
  EXPECT_EQ(failure(request(1, /*training=*/false)),
            path("wmt") + ": has no newstest2013.en" + layout(kTest));
  fs::remove_all(data.path() / "wmt");
  EXPECT_EQ(failure(), path("wmt") + ": does not exist" + layout(kTraining));
  data.write("wmt", "x"s);
  EXPECT_EQ(failure(), path("wmt") + ": is not a directory" + layout(kTraining));
}

TEST_F(Wmt, HalfThereNamesBothHalves) {
  const auto expect = [&](const std::string& stem) {
    for (const auto& [absent, present] : {std::pair{".en", ".fr"}, std::pair{".fr", ".en"}}) {
      write_both(stem, "the\n", "le\n");
      fs::remove(path(stem + absent));
      EXPECT_EQ(failure(), path(stem + present) + ": has no " +
                               fs::path(stem + absent).filename().string() + " beside it" +
                               layout(kTraining));
    }
    fs::remove(path(stem + ".en"));
  };
  expect(kTraining);
  expect(kTraining + kIds);
  write_both(kTraining, "the\n", "le\n");
  expect(kVocabulary);
}

TEST_F(Wmt, OfTextWithoutVocabulariesIsRefused) {
  fs::remove(path(kVocabulary + ".en"));
  fs::remove(path(kVocabulary + ".fr"));
  write_both(kTraining, "the\n", "le\n");
  EXPECT_EQ(failure(), path(kTraining + ".en") + " and " + path(kTraining + ".fr") +
                           ": have no vocab40000.en and vocab40000.fr beside them" +
                           layout(kTraining));
}

TEST_F(Wmt, ThatIsADirectoryIsNoFile) {
  write_both(kTraining, "the\n", "le\n");
  for (const auto& name : {kTraining + ".fr", kVocabulary + ".en"}) {
    fs::remove(path(name));
    fs::create_directory(path(name));
    EXPECT_EQ(failure(), path(name) + ": is not a regular file");
    fs::remove(path(name));
    data.write(name, kSpecial + "the\n");
  }
}

// ---- what is wrong

TEST_F(Wmt, OfDifferentNumbersOfLinesIsRefused) {
  const std::string names = path(kTraining + ".en") + " and " + path(kTraining + ".fr");
  write_both(kTraining, "the\nthe\n", "le\nle\nle\n");
  EXPECT_EQ(failure(), names + ": have 2 and 3 lines, expected as many in both");
  write_both(kTraining, "the\nthe\nthe", "");
  EXPECT_EQ(failure(), names + ": have 3 and 0 lines, expected as many in both");
}

TEST_F(Wmt, IsCountedToTheEndAndParsedToAPoint) {
  const std::string ids = times(kMostPairs - 1, "5\n");
  EXPECT_EQ(read_ids(ids + "last\nno id\n\n", ids + "7\n7\n7\n"), (std::set<IdPair>{{{5}, {5}}}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with("1 of 200000 sentence pairs of ")) << warnings[0];
  EXPECT_TRUE(contains(warnings[0], "skipped: line 200000 (")) << warnings[0];
  EXPECT_TRUE(std::count(progress.begin(), progress.end(), "reading wmt, line 190000"));
  data.write(kTraining + kIds + ".fr", ids + "7\n7\n7\n7\n");
  EXPECT_EQ(failure(), path(kTraining + kIds + ".en") + " and " + path(kTraining + kIds + ".fr") +
                           ": have 200002 and 200003 lines, expected as many in both");
}

TEST_F(Wmt, WithABrokenLineNamesIt) {
  const std::string ids = kTraining + kIds;
  const auto expect = [&](const std::string& source, const std::string& target,
                          const std::string& file, const std::string& message) {
    write_both(file.substr(0, file.size() - 3), "5\n" + source, "5\n" + target);
    EXPECT_EQ(strict_failure(), path(file) + ": line 2: " + message);
  };
  const std::string wrong_id = ", expected an id from 0 to 39999, for which this workload is built";
  expect("\n", "5\n", ids + ".en", "is empty, expected ids");
  expect("5\n", "\n", ids + ".fr", "is empty, expected ids");
  expect("\n", "\r\n", ids + ".en", "is empty, expected ids");
  expect("5\n", "5 six\n", ids + ".fr", "found \"six\"" + wrong_id);
  expect("-5\n", "5\n", ids + ".en", "found \"-5\"" + wrong_id);
  expect("5\n", "40000\n", ids + ".fr", "found \"40000\"" + wrong_id);
  expect("5 \0\n"s, "5\n", ids + ".en", "found \"\\x00\"" + wrong_id);
  expect("\n", "the\n", kTraining + ".en", "is empty, expected a sentence");
  expect("the\n", " \t \n", kTraining + ".fr", "is empty, expected a sentence");
  expect("the\n", std::string(kLongestLine + 1, 'x'), kTraining + ".fr",
         "has 1048577 bytes, expected at most 1048576");
}

TEST_F(Wmt, WithAHundredthBrokenIsReadWithAWarning) {
  write_both(kTraining, times(198, "the\n") + "\n\n", times(198, "le\n") + "le\nle\n");
  EXPECT_EQ(sentence_pairs(kSmallest, request()).skipped_items, 2);
  const std::string names = path(kTraining + ".en") + " and " + path(kTraining + ".fr");
  EXPECT_EQ(warnings,
            std::vector<std::string>{"2 of 200 sentence pairs of " + names +
                                     " are broken and were skipped: line 199, line 200 "
                                     "(--fathom_strict_data ends the load at the first)"});
  write_both(kTraining, times(197, "the\n") + "\n\n\n", times(200, "le\n"));
  EXPECT_EQ(failure(), "3 of 200 sentence pairs of " + names +
                           " are broken, expected at most 1 %; the first: " +
                           path(kTraining + ".en") + ": line 198: is empty, expected a sentence");
}

TEST_F(Wmt, WithoutAPairForTheRowIsRefused) {
  const std::string names =
      path(kTraining + kIds + ".en") + " and " + path(kTraining + kIds + ".fr");
  const std::string longest = times(40, "5 ");
  write_both(kTraining + kIds, "5\n5\n" + longest + "\n5 5 5 5 5\n", "5\n5\n5\n5\n");
  EXPECT_EQ(failure(request(), {.bucket = 2}),
            names +
                ": have 2 in (5,10), 1 in (10,15), 0 in (20,25), 0 in (40,50), 1 longer pairs "
                "in the first 200000 lines, expected at least 1 in (20,25)");
  EXPECT_EQ(failure(request(), {.bucket = 1}), "no error");
  write_both(kTraining + kIds, "", "");
  EXPECT_TRUE(contains(failure(), ": have 0 in (5,10), "));
}

TEST_F(Wmt, LargerThanTheShapeIsRefused) {
  write_both(kTraining, "the\n", "le\n");
  EXPECT_EQ(failure(request(), {.vocabulary = 11, .bucket = 0}), "no error");
  EXPECT_EQ(failure(request(), {.vocabulary = 10, .bucket = 0}),
            path(kVocabulary + ".en") +
                ": has 11 lines, expected at most 10, for which this workload is built");
  fs::remove(path(kTraining + ".en"));
  fs::remove(path(kTraining + ".fr"));
  write_both(kTraining + kIds, "5\n", "9 10\n");
  EXPECT_TRUE(failure(request(), {.vocabulary = 10, .bucket = 0})
                  .ends_with(path(kTraining + kIds + ".fr") +
                             ": line 1: found \"10\", expected an id from 0 to 9, for which this "
                             "workload is built"));
}

TEST_F(Wmt, WithABrokenVocabularyIsRefused) {
  write_both(kTraining, "the\n", "le\n");
  data.write(kVocabulary + ".fr", kSpecial + "le\n.\nle\n");
  EXPECT_EQ(failure(),
            path(kVocabulary + ".fr") + ": line 7: found \"le\" again, expected it on line 5 only");
}

// ---- faults

TEST_F(Wmt, WithAnyFaultIsReadOrRefused) {
  constexpr int kMutations = 1000;  // of each file
  const std::string source = times(40, "The cat sleeps, 12 times.\r\n\xC3\xA9!\n");
  const std::string target = times(40, "Le chat dort.\nL'\xC3\xA9t\xC3\xA9?\n");
  std::string words = kSpecial;
  for (int i = 0; i < 100; ++i) words += "word" + std::to_string(i) + '\n';
  const std::string ids = times(80, "5 16 1007\n");
  const std::vector<std::pair<std::string, std::string>> files{
      {kTraining + ".en", source},
      {kVocabulary + ".fr", words},
      {kTraining + kIds + ".fr", ids},
  };
  Random random(11);
  for (const auto& [name, text] : files) {
    if (name == kTraining + kIds + ".fr") {
      fs::remove(path(kTraining + ".en"));
      fs::remove(path(kTraining + ".fr"));
      write_both(kTraining + kIds, ids, ids);
    } else {
      write_both(kTraining, source, target);
      write_both(kVocabulary, words, words);
    }
    ASSERT_EQ(failure(), "no error");
    const std::vector<uint8_t> whole(text.begin(), text.end());
    int refused = 0;
    for (int i = 0; i < kMutations; ++i) {
      data.write(name, tests::mutated(whole, random));
      const std::string message = failure(request(1));
      if (message == "no error") continue;
      ++refused;
      ASSERT_TRUE(contains(message, path("wmt"))) << message;
      ASSERT_FALSE(contains(message, "\n")) << message;
    }
    EXPECT_GT(refused, kMutations / 10) << name;
    EXPECT_LT(refused, kMutations) << name;
  }
}

}  // namespace
}  // namespace fathom::fixtures
