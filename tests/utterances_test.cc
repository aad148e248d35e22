#include "fixtures/utterances.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fathom::fixtures {
namespace {

/// What the batches of any source of utterances hold true.
void expect_sound(const Pool& pool, const UtteranceShape& shape, int64_t size) {
  for (const auto& batch : pool.batches) {
    ASSERT_EQ(batch[kFeatures].sizes(), (std::vector<int64_t>{size, shape.frames, shape.features}));
    ASSERT_EQ(batch[kFeatures].scalar_type(), at::kFloat);
    ASSERT_EQ(batch[kPhones].sizes(), (std::vector<int64_t>{size, shape.labels}));
    ASSERT_TRUE(batch[kFeatures].isfinite().all().item<bool>());
    const auto* phones = batch[kPhones].const_data_ptr<int64_t>();
    for (int64_t n = 0; n < size; ++n, phones += shape.labels) {
      const auto frames = batch[kFrameCounts][n].item<int64_t>();
      const auto labels = batch[kPhoneCounts][n].item<int64_t>();
      ASSERT_LE(frames, shape.frames);
      ASSERT_GE(labels, 2);
      ASSERT_LE(labels, std::min(shape.labels, frames / 2));
      for (int64_t i = 0; i < shape.labels; ++i) {
        ASSERT_GE(phones[i], 0);
        ASSERT_LT(phones[i], i < labels ? shape.phones : 1);
        if (i > 0 && i < labels) {
          ASSERT_NE(phones[i], phones[i - 1]);
        }
      }
      const auto said = batch[kFeatures][n].narrow(0, 0, frames);
      EXPECT_LT(said.mean(0).abs().max().item<float>(), 1e-4);
      EXPECT_NEAR(said.square().mean().item<float>(), 1, 1e-3);
      EXPECT_EQ(
          batch[kFeatures][n].narrow(0, frames, shape.frames - frames).abs().sum().item<float>(),
          0);
    }
  }
}

TEST(Utterances, HaveTheStatisticsOfTimit) {
  const UtteranceShape shape;
  const Pool pool = utterances(shape, {.batch = 32, .count = 16, .seed = 1});
  ASSERT_EQ(pool.batches.size(), 16U);
  expect_sound(pool, shape, 32);
  double frames = 0;
  double labels = 0;
  for (const auto& batch : pool.batches) {
    frames += batch[kFrameCounts].sum().item<double>();
    labels += batch[kPhoneCounts].sum().item<double>();
    EXPECT_GE(batch[kFrameCounts].min().item<int64_t>(), 184);  // 0.92 s
    EXPECT_GE(batch[kPhoneCounts].min().item<int64_t>(), 7);
  }
  EXPECT_NEAR(frames / (512 * 1566), 0.39, 0.02);
  EXPECT_NEAR(labels / (frames * 0.005), 12.6, 0.3);
  EXPECT_NEAR(labels / 512, 38.7, 2);
}

TEST(Utterances, FitSmallShapes) {
  for (const int64_t frames : {4, 20, 150}) {
    const UtteranceShape shape{.frames = frames, .features = 5, .phones = 3, .labels = 2};
    expect_sound(utterances(shape, {.batch = 20, .count = 1}), shape, 20);
  }
}

TEST(Utterances, AreTheSameForTheSameSeed) {
  const UtteranceShape shape{.frames = 150};
  const Pool first = utterances(shape, {.batch = 4, .count = 2, .seed = 7});
  const Pool second = utterances(shape, {.batch = 4, .count = 2, .seed = 7});
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t field = 0; field < 4; ++field) {
      EXPECT_TRUE(at::equal(first.batches[i][field], second.batches[i][field]));
    }
  }
  EXPECT_FALSE(at::equal(first.batches[0][kFeatures], first.batches[1][kFeatures]));
  const Pool other = utterances(shape, {.batch = 4, .count = 1, .seed = 8});
  EXPECT_FALSE(at::equal(first.batches[0][kFeatures], other.batches[0][kFeatures]));
}

/// Frames of a phone are nearer to its mean than to the others': something can be learnt.
TEST(Utterances, SayTheirPhones) {
  const UtteranceShape shape;
  const Pool pool = utterances(shape, {.batch = 32, .count = 1, .seed = 1});
  const auto& batch = pool.batches[0];
  at::Tensor sums = at::zeros({shape.phones, shape.features});
  at::Tensor counts = at::zeros({shape.phones, 1});
  struct Frame {
    int64_t phone;
    at::Tensor features;
  };
  std::vector<Frame> all;
  for (int64_t n = 0; n < 32; ++n) {
    const auto frames = batch[kFrameCounts][n].item<int64_t>();
    const auto labels = batch[kPhoneCounts][n].item<int64_t>();
    for (int64_t t = 0; t < frames; t += 5) {
      const auto phone = batch[kPhones][n][t * labels / frames].item<int64_t>();
      all.push_back({phone, batch[kFeatures][n][t]});
      sums[phone] += all.back().features;
      counts[phone] += 1;
    }
  }
  const auto means = sums / counts.clamp_min(1);
  int64_t right = 0;
  for (const auto& [phone, features] : all) {
    right += (means - features).square().sum(1).argmin().item<int64_t>() == phone ? 1 : 0;
  }
  EXPECT_GT(static_cast<double>(right), 0.8 * static_cast<double>(all.size()));
}

}  // namespace
}  // namespace fathom::fixtures
