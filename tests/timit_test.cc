#include "fixtures/timit.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "fixtures/speech_features.h"
#include "tests/messages.h"
#include "tests/mutations.h"
#include "tests/speech_files.h"
#include "tests/temporary_folder.h"

namespace fathom::fixtures {
namespace {

namespace fs = std::filesystem;
using tests::contains;
using tests::riff_file;
using tests::sine;
using tests::sphere_file;

const std::string kPhonesText = "0 1600 h#\n1600 4000 sh\n4000 8000 iy\n8000 9600 h#\n";

/// Two speakers with four sentences of 0.6 s each, and one in TEST with two.
class Timit : public testing::Test {
 protected:
  Timit() {
    for (int i = 0; i < 4; ++i) {
      add("TRAIN/DR1/FCJF0/SA" + std::to_string(i), sine(9600, 300 + 10 * i));
      add("TRAIN/DR8/MBCG0/SX" + std::to_string(i), sine(9600, 500 + 10 * i));
    }
    add("TEST/DR2/FPAS0/SI1", sine(9600, 700));
    add("TEST/DR2/FPAS0/SI2", sine(9600, 710));
  }

  void add(const std::string& stem, const std::vector<int16_t>& samples,
           const std::string& phones = kPhonesText) {
    data.write("timit/" + stem + ".WAV", sphere_file(samples));
    data.write("timit/" + stem + ".PHN", phones);
  }
  fs::path root() const { return data.path() / "timit"; }

  PoolRequest request(int64_t batch = 4, int count = 2) {
    PoolRequest request{.batch = batch, .count = count, .seed = 1, .training = true, .source = {}};
    request.source.directory = data.path();
    request.source.progress = [this](const std::string& text) { progress.push_back(text); };
    request.source.warn = [this](const std::string& text) { warnings.push_back(text); };
    return request;
  }
  PoolRequest test_request() {
    auto test = request(2, 1);
    test.training = false;
    return test;
  }

  std::string failure(const PoolRequest& request, const UtteranceShape& shape = {}) {
    return tests::failure([&] { utterances(shape, request); });
  }
  /// The message that a broken sentence in TEST is skipped with.
  std::string strict_failure(const UtteranceShape& shape = {}) {
    auto strict = test_request();
    strict.batch = 3;
    strict.source.strict = true;
    return failure(strict, shape);
  }

  tests::TemporaryFolder data{"timit"};
  std::vector<std::string> progress;
  std::vector<std::string> warnings;
};

TEST_F(Timit, GivesBatchesOfUtterances) {
  const Pool pool = utterances({}, request());
  ASSERT_EQ(pool.batches.size(), 2U);
  EXPECT_EQ(pool.skipped_items, 0);
  EXPECT_TRUE(warnings.empty());
  for (const auto& batch : pool.batches) {
    EXPECT_EQ(batch[kFeatures].sizes(), (std::vector<int64_t>{4, 1566, 26}));
    EXPECT_EQ(batch[kFeatures].scalar_type(), at::kFloat);
    EXPECT_EQ(batch[kPhones].sizes(), (std::vector<int64_t>{4, 75}));
    for (int64_t n = 0; n < 4; ++n) {
      EXPECT_EQ(batch[kFrameCounts][n].item<int64_t>(), 121);
      EXPECT_EQ(batch[kPhoneCounts][n].item<int64_t>(), 4);
      const auto* phones = batch[kPhones].const_data_ptr<int64_t>() + n * 75;
      EXPECT_EQ(std::vector(phones, phones + 6), (std::vector<int64_t>{60, 17, 38, 60, 0, 0}));
      EXPECT_EQ(batch[kFeatures][n].narrow(0, 121, 1445).abs().max().item<float>(), 0);
    }
  }
}

TEST_F(Timit, ReadsTheTestPartForInference) {
  const Pool pool = utterances({}, test_request());
  const auto features = speech_features(sine(9600, 700));
  const auto first = pool.batches[0][kFeatures][0].narrow(0, 0, 121);
  const auto second = pool.batches[0][kFeatures][1].narrow(0, 0, 121);
  EXPECT_TRUE(at::equal(first, features) || at::equal(second, features));
  EXPECT_FALSE(at::equal(first, second));
}

TEST_F(Timit, TellsItsProgress) {
  utterances({}, request());
  EXPECT_EQ(progress.front(), "listing timit TRAIN/DR1");
  EXPECT_TRUE(contains(progress.back(), "reading timit "));
  EXPECT_TRUE(contains(progress.back(), " of 8 utterances"));
}

TEST_F(Timit, IsTheSameForTheSameSeed) {
  const Pool first = utterances({}, request(2, 1));
  EXPECT_TRUE(
      at::equal(first.batches[0][kFeatures], utterances({}, request(2, 1)).batches[0][kFeatures]));
  auto other = request(2, 1);
  other.seed = 3;
  EXPECT_FALSE(at::equal(first.batches[0][kFeatures], utterances({}, other).batches[0][kFeatures]));
}

TEST_F(Timit, DrawsWithoutReplacement) {
  std::set<fs::path> paths;
  for (const auto& file : timit_files(request().source, true, 6, 0)) paths.insert(file.path);
  EXPECT_EQ(paths.size(), 6U);
}

TEST_F(Timit, DrawsTheSameInLowerCaseAndFromRiff) {
  const Pool upper = utterances({}, request(8, 1));
  fs::remove_all(root());
  for (int i = 0; i < 4; ++i) {
    for (const auto& [stem, pitch] : {std::pair("dr1/fcjf0/sa" + std::to_string(i), 300),
                                      {"dr8/mbcg0/sx" + std::to_string(i), 500}}) {
      data.write("Timit/train/" + stem + ".wav", riff_file(sine(9600, pitch + 10 * i)));
      data.write("Timit/train/" + stem + ".phn", kPhonesText);
    }
  }
  EXPECT_TRUE(
      at::equal(upper.batches[0][kFeatures], utterances({}, request(8, 1)).batches[0][kFeatures]));
}

TEST_F(Timit, TakesConvertedCopiesOnce) {
  data.write("timit/TRAIN/DR1/FCJF0/SA0.WAV.wav", riff_file(sine(9600)));
  fs::rename(root() / "TRAIN/DR1/FCJF0/SA1.WAV", root() / "TRAIN/DR1/FCJF0/SA1.WAV.wav");
  data.write("timit/TRAIN/DR1/FCJF0/SA1.TXT", std::string("0 9600 She had\n"));
  const auto files = timit_files(request().source, true, 100, 0);
  EXPECT_EQ(files.size(), 8U);
  std::set<std::string> names;
  for (const auto& file : files) names.insert(file.name());
  EXPECT_TRUE(names.contains("DR1/FCJF0/SA0.WAV"));
  EXPECT_TRUE(names.contains("DR1/FCJF0/SA1.WAV.wav"));
}

TEST_F(Timit, UsesFewUtterancesAgain) {
  const Pool pool = utterances({}, request(/*batch=*/6));
  EXPECT_TRUE(at::equal(pool.batches[0][kFeatures][0], pool.batches[1][kFeatures][2]));
}

TEST_F(Timit, CutsUtterancesToAShorterShape) {
  const Pool pool = utterances({.frames = 60}, request(1, 8));  // 4,800 samples
  for (const auto& batch : pool.batches) {
    EXPECT_EQ(batch[kFeatures].sizes(), (std::vector<int64_t>{1, 60, 26}));
    EXPECT_EQ(batch[kFrameCounts][0].item<int64_t>(), 60);
    EXPECT_EQ(batch[kPhoneCounts][0].item<int64_t>(), 2);
    EXPECT_EQ(batch[kPhones][0][2].item<int64_t>(), 0);
  }
  EXPECT_EQ(utterances({.frames = 10}, request()).batches[0][kPhoneCounts].min().item<int64_t>(),
            1);
}

// ---- folders

TEST_F(Timit, MissingSaysWhatWasExpected) {
  const std::string expected =
      ", expected timit/{TRAIN,TEST}/DR*/<speaker>/*.{WAV,PHN} (--fathom_data)";
  fs::remove_all(root() / "TEST");
  EXPECT_EQ(failure(test_request()), root().string() + "/TEST: does not exist" + expected);
  fs::remove_all(root());
  EXPECT_EQ(failure(request()), root().string() + ": does not exist" + expected);
  data.write("timit", std::string("x"));
  EXPECT_EQ(failure(request()), root().string() + ": is not a directory" + expected);
}

TEST_F(Timit, WithoutWaveformsIsRefused) {
  fs::remove_all(root() / "TEST/DR2/FPAS0");
  EXPECT_TRUE(contains(failure(test_request()), "/TEST: has no DR*/<speaker>/*.WAV under it"));
}

TEST_F(Timit, WithOneFileOfAPairIsRefused) {
  fs::remove(root() / "TRAIN/DR8/MBCG0/SX2.PHN");
  EXPECT_TRUE(contains(failure(request()), "SX2.WAV: has no SX2.PHN beside it, expected timit/"));
  fs::rename(root() / "TRAIN/DR8/MBCG0/SX2.WAV", root() / "TRAIN/DR8/MBCG0/SX2.PHN");
  EXPECT_TRUE(contains(failure(request()), "SX2.PHN: has no SX2.WAV beside it, expected timit/"));
}

TEST_F(Timit, WarnsOfWhatIsNoRegion) {
  data.write("timit/TRAIN/readme.doc", std::string("x"));
  fs::create_directory_symlink(root() / "TRAIN/DR9", root() / "TRAIN/DR9");
  utterances({}, request());
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(contains(warnings[0], "/TRAIN: not DR*, left out: DR9, readme.doc"));
}

TEST_F(Timit, WithFewerUtterancesThanABatchIsRefused) {
  EXPECT_TRUE(contains(failure(request(9)),
                       "/timit: has 8 usable utterances, expected at least a batch of 9 "
                       "(--fathom_batch)"));
}

TEST_F(Timit, ForAnotherNetworkIsRefused) {
  EXPECT_TRUE(contains(failure(request(), {.features = 80}),
                       "gives 61 phones and 26 features, expected 61 and 80"));
  EXPECT_TRUE(contains(failure(request(), {.phones = 39}), "expected 39 and 26"));
}

// ---- broken utterances

TEST_F(Timit, SkipsOneBrokenUtteranceInAHundredAndNamesIt) {
  for (int i = 10; i < 102; ++i)
    add("TRAIN/DR1/FCJF0/SI" + std::to_string(i), sine(1600), "0 9 b\n");
  data.write("timit/TRAIN/DR8/MBCG0/SX3.WAV", std::string("fLaC"));
  EXPECT_EQ(utterances({.frames = 150}, request(/*batch=*/99, /*count=*/1)).skipped_items, 1);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(contains(warnings[0], "1 of 100 utterances of"));
  EXPECT_TRUE(contains(warnings[0], "were skipped: DR8/MBCG0/SX3.WAV"));
}

TEST_F(Timit, WithMoreThanOnePercentBrokenIsRefused) {
  data.write("timit/TRAIN/DR8/MBCG0/SX3.WAV", std::string());
  const std::string message = failure(request(4, 3));
  EXPECT_TRUE(contains(message, "1 of 8 utterances of"));
  EXPECT_TRUE(contains(message, "expected at most 1 %; the first: "));
  EXPECT_TRUE(contains(message, "SX3.WAV: byte 0: is empty"));
}

TEST_F(Timit, LeavesOutUtterancesThatDoNotFit) {
  add("TEST/DR2/FPAS0/SI3", sine(125'280), "0 9 b\n");  // 1567 frames
  EXPECT_TRUE(
      contains(strict_failure(), "SI3.WAV: has 1567 frames of 5 ms, expected at most 1566"));
  EXPECT_TRUE(contains(strict_failure({.frames = 150}), "SI3.WAV: has 1567 frames"));

  std::string many;
  for (int i = 0; i < 76; ++i) many += std::to_string(i) + ' ' + std::to_string(i + 1) + " s\n";
  add("TEST/DR2/FPAS0/SI3", sine(16'000), many);
  EXPECT_TRUE(contains(strict_failure(), "SI3.PHN: has 76 phones, expected at most 75"));

  add("TEST/DR2/FPAS0/SI3", sine(200), "0 9 b\n9 10 b\n10 11 d\n");  // three frames, four steps
  EXPECT_TRUE(contains(strict_failure(),
                       "SI3.PHN: has 4 phones and pauses between equal ones for 3 frames, expected "
                       "at most 3"));

  add("TEST/DR2/FPAS0/SI3", sine(159), "0 9 b\n");
  EXPECT_TRUE(contains(strict_failure(), "SI3.WAV: has 159 samples, expected at least 160"));

  add("TEST/DR2/FPAS0/SI3", sine(8000));
  EXPECT_TRUE(
      contains(strict_failure(), "SI3.PHN: line 4: ends at sample 9600, expected at most 8"));
}

TEST_F(Timit, WarnsOnceOfOddUtterances) {
  add("TEST/DR2/FPAS0/SI1", sine(9590));
  add("TEST/DR2/FPAS0/SI2", sine(9590));
  utterances({}, test_request());
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(contains(warnings[0], "2 odd utterances were taken; the first: "));
  EXPECT_TRUE(contains(warnings[0], "line 4: ends at sample 9600, expected at most 9590"));
}

TEST_F(Timit, WithAnyFaultIsReadOrRefused) {
  constexpr int kMutations = 1000;
  const std::string wave = sphere_file(sine(9600));
  const std::vector<uint8_t> waves(wave.begin(), wave.end());
  const std::vector<uint8_t> phones(kPhonesText.begin(), kPhonesText.end());
  Random random(4);
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    data.write("timit/TEST/DR2/FPAS0/SI1.WAV", i % 2 == 0 ? tests::mutated(waves, random) : waves);
    data.write("timit/TEST/DR2/FPAS0/SI1.PHN",
               i % 2 == 0 ? phones : tests::mutated(phones, random));
    const std::string message = failure(test_request(), {.frames = 150});
    if (message == "no error") continue;
    ++refused;
    ASSERT_TRUE(contains(message, "SI1.")) << message;
    ASSERT_FALSE(contains(message, "\n"));
  }
  EXPECT_GT(refused, kMutations / 4);
  EXPECT_LT(refused, kMutations);
}

}  // namespace
}  // namespace fathom::fixtures
