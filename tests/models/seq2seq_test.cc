#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/text/sentence_pairs.h"
#include "models/table.h"
#include "models/workload.h"
#include "ops/kernels/sampled_softmax.h"
#include "tests/models/parameters.h"
#include "tests/models/seq2seq_reference.h"

namespace fathom::models {
namespace {

using fixtures::kSourceIds;
using fixtures::kTargetIds;
using fixtures::kTargetWeights;
using tests::kWords;

constexpr int64_t kCandidates = 12;

class Seq2seq : public testing::Test {
 protected:
  Seq2seq() {
    fixtures::set_threads(1);
    at::manual_seed(1);
    seq2seq = workload("seq2seq").make(Scale::kSmall);
  }

  std::vector<at::Tensor> copies() {
    std::vector<at::Tensor> all;
    for (const auto& parameter : seq2seq->module().parameters()) {
      all.push_back(parameter.detach().clone());
    }
    return all;
  }

  std::unique_ptr<Workload> seq2seq;
};

TEST_F(Seq2seq, AgreesWithPlainLoopsInFloat64) {
  fixtures::Batch batch = seq2seq->batches({.batch = 2, .seed = 2}).batches[0];
  batch[kTargetWeights] = batch[kTargetWeights].to(at::kDouble);
  seq2seq->module().to(at::kDouble);
  const tests::Seq2seqReference reference(seq2seq->module());
  at::manual_seed(4);
  const auto candidates = ops::draw_log_uniform(10, kCandidates, kWords);
  tests::expect_gradients(
      tests::parameters(*seq2seq),
      [&] {
        at::manual_seed(4);
        return seq2seq->loss(batch);
      },
      [&] { return reference.loss(batch, candidates); }, 8);
}

TEST_F(Seq2seq, TranslatesWithItsOwnWords) {
  fixtures::Batch batch = seq2seq->batches({.batch = 3, .seed = 2}).batches[0];
  seq2seq->module().to(at::kDouble);
  const torch::NoGradGuard no_grad;
  const at::Tensor logits = seq2seq->infer(batch);
  const tests::Seq2seqReference reference(seq2seq->module());
  for (int64_t n = 0; n < 3; ++n) {
    const auto expected = reference.translate(batch, n);
    for (int64_t t = 0; t < logits.size(0); ++t) {
      for (int64_t word = 0; word < kWords; ++word) {
        ASSERT_NEAR(logits[t][n][word].item<double>(),
                    expected[static_cast<std::size_t>(t)][static_cast<std::size_t>(word)], 1e-9);
      }
    }
  }
}

TEST_F(Seq2seq, OverfitsOneBatchAndTranslatesIt) {
  const auto batch = seq2seq->batches({.batch = 4, .seed = 3}).batches[0];
  const auto step = [&] {
    const at::Tensor loss = seq2seq->loss(batch);
    loss.backward();
    seq2seq->update();
    return loss.item<double>();
  };
  const double before = step();
  double after = before;
  for (int i = 0; i < 700; ++i) after = step();
  EXPECT_LT(after, 0.1 * before);
  const torch::NoGradGuard no_grad;
  const at::Tensor right =
      seq2seq->infer(batch).argmax(2).eq(batch[kTargetIds].slice(0, 1)) * batch[kTargetWeights];
  EXPECT_EQ(right.sum().item<float>(), batch[kTargetWeights].sum().item<float>());
}

TEST_F(Seq2seq, GivesWordsTheGradientsOfTheirRowsOnly) {
  const auto batch = seq2seq->batches({.batch = 4, .seed = 3}).batches[0];
  seq2seq->loss(batch).backward();
  for (const auto& parameter : seq2seq->module().named_parameters()) {
    const at::Tensor gradient = parameter->grad();
    EXPECT_EQ(gradient.is_sparse(), parameter.key().ends_with("_words")) << parameter.key();
    if (!gradient.is_sparse()) continue;
    const at::Tensor& ids = batch[parameter.key() == "source_words" ? kSourceIds : kTargetIds];
    EXPECT_LE(gradient._values().size(0), ids.numel());
  }
}

TEST_F(Seq2seq, ClipsTheNormOfAllGradientsTogether) {
  const auto batch = seq2seq->batches({.batch = 4, .seed = 3}).batches[0];
  const auto before = copies();
  (seq2seq->loss(batch) * 1000).backward();
  seq2seq->update();
  const auto after = copies();
  double square = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    square += std::pow((after[i] - before[i]).norm().item<double>(), 2);
  }
  EXPECT_NEAR(std::sqrt(square), 0.5 * 5, 1e-3);
}

TEST_F(Seq2seq, SlowsDownWhereTheLossIsAboveTheLastThree) {
  const auto batch = seq2seq->batches({.batch = 4, .seed = 3}).batches[0];
  std::vector<double> losses;
  double rate = 0.5;
  const auto step = [&](double factor) {
    const at::Tensor loss = seq2seq->loss(batch);
    (loss * factor).backward();
    losses.push_back(loss.item<double>());
    const std::size_t n = losses.size();
    if (n > 3 && losses[n - 1] > *std::max_element(losses.end() - 4, losses.end() - 1)) {
      rate *= 0.99;
    }
  };
  for (int i = 0; i < 20; ++i) {
    step(0);  // only the candidates differ
    seq2seq->update();
  }
  const double now = rate;  // the next loss changes the rate after its step
  step(1e-3);
  ASSERT_LT(now, 0.49);
  const at::Tensor bias = seq2seq->module().named_parameters()["projection_bias"];
  const at::Tensor expected = bias.detach() - now * bias.grad();
  seq2seq->update();
  EXPECT_TRUE(bias.detach().allclose(expected, 1e-6, 1e-9));
}

/// The gates of an LSTM are in the order input, forget, cell, output.
TEST_F(Seq2seq, StartsTheBiasOfForgetGatesAtOne) {
  int layers = 0;
  for (const auto& parameter : seq2seq->module().named_parameters()) {
    if (!parameter.key().starts_with("encoder_bias") &&
        !parameter.key().starts_with("decoder_bias")) {
      continue;
    }
    ++layers;
    const auto gates = parameter->detach().chunk(4);
    for (std::size_t gate = 0; gate < gates.size(); ++gate) {
      EXPECT_TRUE(gates[gate].eq(gate == 1 ? 1 : 0).all().item<bool>())
          << parameter.key() << " gate " << gate;
    }
  }
  EXPECT_GT(layers, 1);
}

/// With logits near zero the loss is ln V + ln Q. Q is the expected count of the label among the
/// candidates.
TEST_F(Seq2seq, StartsAtTheLossOfWordsAtRandom) {
  const auto full = workload("seq2seq_5x10").make(Scale::kFull);
  const auto batch = full->batches({.batch = 64, .seed = 2}).batches[0];
  const torch::NoGradGuard no_grad;
  const at::Tensor labels = batch[kTargetIds].slice(0, 1).to(at::kDouble);
  const at::Tensor share = (1 / (labels + 1)).log1p() / std::log(40'001.0);
  const at::Tensor expected = std::log(40'000.0) + (1 - (1 - share).pow(810)).log();
  const at::Tensor& weights = batch[kTargetWeights];
  EXPECT_NEAR(full->loss(batch).item<double>(),
              ((expected * weights).sum(0) / weights.sum(0)).mean().item<double>(), 0.2);
}

}  // namespace
}  // namespace fathom::models
