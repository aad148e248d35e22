// The loss of every workload before training, against theory for its initial weights.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <string_view>

#include "fixtures/batch.h"
#include "fixtures/games/rollouts.h"
#include "fixtures/machine/device.h"
#include "fixtures/speech/spectrograms.h"
#include "fixtures/speech/utterances.h"
#include "fixtures/text/sentence_pairs.h"
#include "fixtures/text/translations.h"
#include "models/table.h"
#include "ops/kernels/sampled_softmax.h"

namespace fathom::models {
namespace {

using fixtures::Batch;

constexpr int64_t kBatch = 32;
constexpr uint64_t kSeed = 4;  ///< of random numbers in the loss

// ---- classifiers with logits near zero: every class has the same probability

double sixty_four_tokens(const Batch& /*batch*/) { return std::log(64); }
/// A state has 48 elements of mean square 1 and the embedding's weights a deviation of 0.1, so the
/// logits have the variance 48 · 0.01.
double sixty_four_spread_tokens(const Batch& /*batch*/) { return std::log(64) + 48 * 0.01 / 2; }
/// The state of a position is normalised, so the logits of 64 ids have the variance 1, but that of
/// the id that it reads is near 4.2: the state is the sum of that id's embedding, of waves of half
/// its variance and of six branches that add about twice its variance, so their cosine is near
/// 1 / sqrt(3.5), and 64 units have the norm 8. Smoothing leaves the mean as it is.
double sixty_four_subwords(const Batch& /*batch*/) {
  return std::log(64 * std::exp(0.5) + std::exp(8 / std::sqrt(3.5)));
}
/// The sum over the words of a sentence.
double forty_words_summed(const Batch& batch) {
  return batch[fixtures::kWantedWords].ge(0).sum().item<double>() / kBatch * std::log(40);
}
double ten_classes(const Batch& /*batch*/) { return std::log(10); }
/// The units before the last layer are near 1, their bias, and dropout doubles their mean square.
/// The logits have the variance v = 64 * 0.04^2 * 2, which adds v / 2.
double ten_classes_after_dropout(const Batch& /*batch*/) { return std::log(10) + 0.1; }
/// The units of the last stage are ReLUs of sums of four normalised maps: their mean square is
/// about 2.4. The last layer's weights have the variance 1 / (3 units), so the logits have v = 0.8,
/// which adds v / 2. Only ten logits are drawn, so this varies much.
double ten_classes_of_residual_sums(const Batch& /*batch*/) { return std::log(10) + 0.4; }
/// Two classifiers, the second weighted by 0.4. The first has 128 units, means of four normalised
/// pixels after a ReLU, of mean square 0.244, which dropout doubles, and weights of variance 0.01.
double two_classifiers(const Batch& /*batch*/) {
  return 1.4 * std::log(10) + 128 * 0.244 * 2 * 0.01 / 2;
}
/// The generator's loss: minus the critic's mean value. With Glorot's weights it is of order 1, of
/// either sign.
double value_near_zero(const Batch& /*batch*/) { return 0; }
/// Anchors are on an object with probability 1/2, regions have four equally likely classes; the
/// losses of the boxes add a little.
double anchors_and_regions(const Batch& /*batch*/) { return std::log(2) + std::log(4); }
double twenty_words_summed(const Batch& /*batch*/) { return kBatch * std::log(20); }

/// The sampled softmax of zero logits: a class of expected count Q has the weight 1 / Q.
double sampled_words(const Batch& batch) {
  constexpr int64_t kWords = 50;
  constexpr int64_t kCandidates = 12;
  const at::Tensor& labels =
      batch[fixtures::kTargetIds];  // [T + 1, N]; the first row is not a label
  const at::Tensor& weights = batch[fixtures::kTargetWeights];
  const auto drawn = ops::draw_log_uniform(weights.size(0), kCandidates, kWords);
  double sum = 0;
  for (int64_t n = 0; n < weights.size(1); ++n) {
    double losses = 0;
    for (int64_t t = 0; t < weights.size(0); ++t) {
      if (weights[t][n].item<float>() == 0) continue;
      const double tries = drawn.tries[t].item<double>();
      const auto expected_count = [&](int64_t id) {
        const auto k = static_cast<double>(id);
        return 1 - std::pow(1 - std::log((k + 2) / (k + 1)) / std::log(kWords + 1.0), tries);
      };
      const auto label = labels[t + 1][n].item<int64_t>();
      double total = 1 / expected_count(label);
      for (int64_t s = 0; s < kCandidates; ++s) {
        const auto id = drawn.ids[t][s].item<int64_t>();
        if (id != label) total += 1 / expected_count(id);
      }
      losses += std::log(total * expected_count(label));
    }
    sum += losses / weights.select(1, n).sum().item<double>();
  }
  return sum / static_cast<double>(weights.size(1));
}

/// CTC with T frames of C equally likely classes: -log of the number of paths that spell the L
/// labels, (T + L - R over 2 L) for R repeated neighbours, times C^-T. `labels` are [N, L].
double equally_likely(double classes, const at::Tensor& labels, const at::Tensor& frame_counts,
                      const at::Tensor& label_counts) {
  double sum = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    const auto frames = frame_counts[n].item<int64_t>();
    const auto count = label_counts[n].item<int64_t>();
    int64_t repeated = 0;
    for (int64_t i = 1; i < count; ++i) repeated += labels[n][i].equal(labels[n][i - 1]) ? 1 : 0;
    const auto places = static_cast<double>(frames + count - repeated);
    const auto chosen = static_cast<double>(2 * count);
    const double paths =
        std::lgamma(places + 1) - std::lgamma(chosen + 1) - std::lgamma(places - chosen + 1);
    sum += static_cast<double>(frames) * std::log(classes) - paths;
  }
  return sum / kBatch;
}

double equally_likely_phones(const Batch& batch) {
  return equally_likely(10, batch[fixtures::kPhones], batch[fixtures::kFrameCounts],
                        batch[fixtures::kPhoneCounts]);
}

double equally_likely_letters(const Batch& batch) {
  constexpr std::size_t kFramesAfterConvolutions = 5;  // position in a batch of deepspeech2.cc
  return equally_likely(29, batch[fixtures::kLetters], batch[kFramesAfterConvolutions],
                        batch[fixtures::kLetterCounts]);
}

// ---- auto-encoders

/// Linear maps with weights of variance 2 / (784 + latent). For an image of squared norm s the mean
/// and the log variance of a latent variable have the variance v = 2 s / (784 + latent), and the
/// sampled variable has v + E[exp(log variance)] = v + exp(v / 2).
double linear_autoencoder(const Batch& batch) {
  constexpr double kPixels = 784;
  constexpr double kLatent = 40;
  constexpr double kVariance = 2 / (kPixels + kLatent);
  double error = 0;
  double divergence = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    const double square = batch[0][n].square().sum().item<double>();
    const double v = square * kVariance;
    error += (square + kPixels * kLatent * kVariance * (v + std::exp(v / 2))) / 2;
    divergence += kLatent * (v + std::exp(v / 2) - 1) / 2;
  }
  return error + divergence / kBatch;
}

/// Weights near zero: every pixel has the probability 1/2 and the code is already standard normal.
double coin_per_pixel(const Batch& /*batch*/) { return 784 * std::log(2); }

// ---- Q-networks

/// Weights near zero: every action of every state has the value of the last bias, 0.1.
double constant_values(const Batch& batch) {
  constexpr std::size_t kRewards = 2;  // positions in a batch of deepq.cc
  constexpr std::size_t kTerminals = 3;
  double sum = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    const double next = batch[kTerminals][n].item<double>() == 0 ? 0.99 * 0.1 : 0;
    const double difference = std::abs(batch[kRewards][n].item<double>() + next - 0.1);
    sum += difference < 1 ? difference * difference / 2 : difference - 0.5;
  }
  return sum;
}

// ---- actor-critics

/// The values are near 0 and the six actions equally likely, so an advantage is the reward with the
/// discounted later ones.
double equally_likely_actions(const Batch& batch) {
  const at::Tensor& rewards = batch[fixtures::kEarned];  // [T, N]
  double sum = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    double later = 0;
    for (int64_t t = rewards.size(0) - 1; t >= 0; --t) {
      later = rewards[t][n].item<double>() +
              (batch[fixtures::kEnded][t][n].item<double>() == 0 ? 0.99 * later : 0);
      sum += later * later / 2 + later * std::log(6) - 0.01 * std::log(6);
    }
  }
  return sum / kBatch;
}

struct Start {
  std::string_view workload;
  double (*loss)(const Batch& batch);
  double tolerance;     ///< relative
  double absolute = 0;  ///< tolerance of a loss near 0
};

void PrintTo(const Start& start, std::ostream* out) { *out << start.workload; }

constexpr Start kStarts[] = {
    {"seq2seq", sampled_words, 0.05},
    {"memnet", twenty_words_summed, 0.05},
    {"speech", equally_likely_phones, 0.15},
    {"autoenc", linear_autoencoder, 0.15},
    {"residual", ten_classes, 0.05},
    {"vgg", ten_classes, 0.05},
    {"alexnet", ten_classes_after_dropout, 0.05},
    {"deepq", constant_values, 0.05},
    {"resnet50", ten_classes_of_residual_sums, 0.2},
    {"inception_v3", two_classifiers, 0.05},
    {"nmt", forty_words_summed, 0.02},
    {"transformer", sixty_four_subwords, 0.08},
    {"wgan", value_near_zero, 0, 2},
    {"faster_rcnn", anchors_and_regions, 0.15},
    {"a3c", equally_likely_actions, 0.1, 0.05},
    {"deepspeech2", equally_likely_letters, 0.1},
    {"gpt2", sixty_four_tokens, 0.02},
    {"gpt2_1024", sixty_four_tokens, 0.02},
    {"llama", sixty_four_spread_tokens, 0.03},
    {"moe_6", sixty_four_tokens, 0.02},  // and 0.01 for balanced experts
    {"mamba", sixty_four_tokens, 0.02},
    {"seq2seq_5x10", sampled_words, 0.05},
    {"seq2seq_10x15", sampled_words, 0.05},
    {"seq2seq_20x25", sampled_words, 0.05},
    {"speech_150", equally_likely_phones, 0.15},
    {"autoenc_kingma", coin_per_pixel, 0.01},
    {"deepq_2013", constant_values, 0.05},
    {"speech_repo", equally_likely_phones, 0.1},
    {"residual_repo", ten_classes, 0.05},
    {"vgg_repo", ten_classes, 0.05},
    {"alexnet_repo", ten_classes, 0.05},
};

class StartingLoss : public testing::TestWithParam<Start> {};

INSTANTIATE_TEST_SUITE_P(Table, StartingLoss, testing::ValuesIn(kStarts),
                         [](const auto& one) { return std::string(one.param.workload); });

TEST_P(StartingLoss, IsThatOfTheInitialWeights) {
  fixtures::set_threads(1);
  at::manual_seed(1);
  const auto net = workload(GetParam().workload).make(Scale::kSmall);
  const Batch batch = net->batches({.batch = kBatch, .seed = 2}).batches[0];
  at::manual_seed(kSeed);
  const double expected = GetParam().loss(batch);
  const c10::NoGradGuard no_grad;
  at::manual_seed(kSeed);
  EXPECT_NEAR(net->loss(batch).item<double>(), expected,
              GetParam().tolerance * expected + GetParam().absolute);
}

TEST(StartingLosses, AreKnownOfEveryWorkloadThatTrains) {
  for (const auto& row : workloads()) {
    const bool known = std::ranges::any_of(
        kStarts, [&](const Start& start) { return start.workload == row.name; });
    EXPECT_EQ(known, row.trains) << row.name;
  }
}

}  // namespace
}  // namespace fathom::models
