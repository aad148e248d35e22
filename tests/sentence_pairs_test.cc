#include "fixtures/sentence_pairs.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace fathom::fixtures {
namespace {

using Ids = std::vector<int64_t>;

template <typename T>
std::vector<T> values(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return {flat.const_data_ptr<T>(), flat.const_data_ptr<T>() + flat.numel()};
}

TEST(Buckets, TakeWhatLeavesAPlaceInBothLanguages) {
  EXPECT_EQ(bucket_of(1, 1), 0U);
  EXPECT_EQ(bucket_of(4, 8), 0U);
  EXPECT_EQ(bucket_of(5, 8), 1U);
  EXPECT_EQ(bucket_of(4, 9), 1U);
  EXPECT_EQ(bucket_of(9, 13), 1U);
  EXPECT_EQ(bucket_of(10, 13), 2U);
  EXPECT_EQ(bucket_of(9, 14), 2U);
  EXPECT_EQ(bucket_of(19, 23), 2U);
  EXPECT_EQ(bucket_of(20, 1), 3U);
  EXPECT_EQ(bucket_of(1, 24), 3U);
  EXPECT_EQ(bucket_of(39, 48), 3U);
  EXPECT_EQ(bucket_of(40, 1), std::nullopt);
  EXPECT_EQ(bucket_of(1, 49), std::nullopt);
}

TEST(SentenceBatch, ReversesTheSourceAndFramesTheTarget) {
  const std::vector<SentencePair> pairs{{{11, 12, 13}, {21, 22}}, {{14}, {23, 24, 25, 26}}};
  const Batch batch = sentence_batch(pairs, {.source = 5, .target = 6});
  ASSERT_EQ(batch.size(), 3U);
  EXPECT_EQ(batch[kSourceIds].sizes(), (Ids{5, 2}));
  EXPECT_EQ(batch[kTargetIds].sizes(), (Ids{7, 2}));
  EXPECT_EQ(batch[kTargetWeights].sizes(), (Ids{6, 2}));
  EXPECT_EQ(batch[kTargetWeights].scalar_type(), at::kFloat);
  for (const auto& tensor : batch) EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(values<int64_t>(batch[kSourceIds].select(1, 0)), (Ids{0, 0, 13, 12, 11}));
  EXPECT_EQ(values<int64_t>(batch[kSourceIds].select(1, 1)), (Ids{0, 0, 0, 0, 14}));
  EXPECT_EQ(values<int64_t>(batch[kTargetIds].select(1, 0)), (Ids{kStart, 21, 22, kEnd, 0, 0, 0}));
  EXPECT_EQ(values<int64_t>(batch[kTargetIds].select(1, 1)),
            (Ids{kStart, 23, 24, 25, 26, kEnd, 0}));
  EXPECT_EQ(values<float>(batch[kTargetWeights].select(1, 0)),
            (std::vector<float>{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(values<float>(batch[kTargetWeights].select(1, 1)),
            (std::vector<float>{1, 1, 1, 1, 1, 0}));
}

// ---- made-up pairs

/// Of a batch of 64 by the model in the comments of zipf_sentences.cc, simulated apart from it.
struct Statistics {
  double source;  ///< words
  double target;  ///< words and the end
  double source_distinct;
  double target_distinct;
};

constexpr std::array<Statistics, kBuckets.size()> kExpected{{
    {3.7, 5.7, 176, 222},
    {7.5, 10.2, 329, 400},
    {14.0, 17.9, 561, 660},
    {25.7, 33.4, 938, 1132},
}};

double distinct(const at::Tensor& ids) {
  const auto all = values<int64_t>(ids);
  return static_cast<double>(std::set<int64_t>(all.begin(), all.end()).size());
}

class MadeUpPairs : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Buckets, MadeUpPairs, testing::Range(std::size_t{0}, kBuckets.size()));

TEST_P(MadeUpPairs, HaveTheLengthsAndTheWordsOfTheirBucket) {
  constexpr int64_t kSize = 64;
  constexpr int kCount = 40;
  const PairShape shape{.bucket = GetParam()};
  const auto bucket = kBuckets[GetParam()];
  const auto expected = kExpected[GetParam()];
  const Pool pool = sentence_pairs(shape, {.batch = kSize, .count = kCount, .seed = 1});
  ASSERT_EQ(pool.batches.size(), std::size_t{kCount});
  EXPECT_EQ(pool.skipped_items, 0);
  Statistics mean{};
  double unknown = 0;
  for (const auto& batch : pool.batches) {
    ASSERT_EQ(batch[kSourceIds].sizes(), (Ids{bucket.source, kSize}));
    ASSERT_EQ(batch[kTargetIds].sizes(), (Ids{bucket.target + 1, kSize}));
    ASSERT_GE(batch[kSourceIds].min().item<int64_t>(), 0);
    ASSERT_LT(batch[kSourceIds].max().item<int64_t>(), shape.vocabulary);
    ASSERT_GE(batch[kTargetIds].min().item<int64_t>(), 0);
    ASSERT_LT(batch[kTargetIds].max().item<int64_t>(), shape.vocabulary);
    mean.source += batch[kSourceIds].ne(kPadding).sum().item<double>();
    mean.target += batch[kTargetWeights].sum().item<double>();
    mean.source_distinct += distinct(batch[kSourceIds]);
    mean.target_distinct += distinct(batch[kTargetIds].narrow(0, 0, bucket.target));
    for (const auto field : {kSourceIds, kTargetIds}) {
      unknown += batch[field].eq(kUnknown).sum().item<double>();
    }
  }
  const double words = mean.source + mean.target - kSize * kCount;
  EXPECT_NEAR(mean.source / (kSize * kCount), expected.source, 0.03 * expected.source);
  EXPECT_NEAR(mean.target / (kSize * kCount), expected.target, 0.03 * expected.target);
  EXPECT_NEAR(mean.source_distinct / kCount, expected.source_distinct,
              0.05 * expected.source_distinct);
  EXPECT_NEAR(mean.target_distinct / kCount, expected.target_distinct,
              0.05 * expected.target_distinct);
  EXPECT_NEAR(unknown / words, 0.03, 0.004);
}

TEST(MadeUpPairs, HaveAFewFrequentWords) {
  const Pool pool = sentence_pairs({}, {.batch = 64, .count = 20, .seed = 2});
  double words = 0;
  double first = 0;
  double first_hundred = 0;
  for (const auto& batch : pool.batches) {
    const auto& ids = batch[kSourceIds];
    words += ids.ge(kFirstWord).sum().item<double>();
    first += ids.eq(kFirstWord).sum().item<double>();
    first_hundred += ids.ge(kFirstWord).logical_and(ids.lt(kFirstWord + 100)).sum().item<double>();
  }
  EXPECT_NEAR(first / words, 0.05, 0.01);
  EXPECT_NEAR(first_hundred / words, 0.41, 0.02);
}

TEST(MadeUpPairs, FitSmallVocabularies) {
  for (const int64_t vocabulary : {5, 6, 40}) {
    const PairShape shape{.vocabulary = vocabulary, .bucket = 1};
    for (const auto& batch : sentence_pairs(shape, {.batch = 200, .count = 2}).batches) {
      EXPECT_EQ(batch[kSourceIds].max().item<int64_t>(), vocabulary - 1);
      EXPECT_EQ(batch[kTargetIds].max().item<int64_t>(), vocabulary - 1);
    }
  }
}

TEST(MadeUpPairs, AreTheSameForTheSameSeed) {
  const PoolRequest request{.batch = 8, .count = 2, .seed = 7};
  const auto first = sentence_pairs({}, request).batches;
  const auto second = sentence_pairs({}, request).batches;
  for (std::size_t i = 0; i < 2; ++i) {
    for (const auto field : {kSourceIds, kTargetIds, kTargetWeights}) {
      EXPECT_TRUE(at::equal(first[i][field], second[i][field]));
    }
  }
  EXPECT_FALSE(at::equal(first[0][kSourceIds], first[1][kSourceIds]));
  const auto other = sentence_pairs({}, {.batch = 8, .count = 1, .seed = 8}).batches;
  EXPECT_FALSE(at::equal(first[0][kSourceIds], other[0][kSourceIds]));
}

}  // namespace
}  // namespace fathom::fixtures
