#include <ATen/ops/equal.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/text/sentence_pairs.h"
#include "models/table.h"
#include "ops/kernels/sampled_softmax.h"
#include "tests/ops/gradients.h"

namespace fathom::models {
namespace {

using Vector = std::vector<double>;
using fixtures::kSourceIds;
using fixtures::kTargetIds;
using fixtures::kTargetWeights;

constexpr int64_t kWords = 50;
constexpr int64_t kCandidates = 12;
constexpr std::size_t kWidth = 16;

Vector joined(Vector a, const Vector& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The network on one sentence after the other, in plain loops.
class Reference {
 public:
  explicit Reference(torch::nn::Module& net) : parameters_(net.named_parameters()) {}

  double loss(const fixtures::Batch& batch, const ops::Candidates& candidates) const {
    const int64_t size = batch[kSourceIds].size(1);
    double sum = 0;
    for (int64_t n = 0; n < size; ++n) {
      double losses = 0;
      double weights = 0;
      decode(batch, n, [&](int64_t t, const Vector& output) {
        const double weight = batch[kTargetWeights][t][n].item<double>();
        const auto next = batch[kTargetIds][t + 1][n].item<int64_t>();
        if (weight > 0) losses += weight * sampled_loss(output, next, candidates, t);
        weights += weight;
        return next;
      });
      sum += losses / weights;
    }
    return sum / static_cast<double>(size);
  }

  /// Logits [positions][words], each position with the likeliest word of the one before.
  std::vector<Vector> translate(const fixtures::Batch& batch, int64_t n) const {
    std::vector<Vector> logits;
    decode(batch, n, [&](int64_t /*t*/, const Vector& output) {
      logits.push_back(product("projection", output, "projection_bias"));
      const auto& now = logits.back();
      return std::max_element(now.begin(), now.end()) - now.begin();
    });
    return logits;
  }

 private:
  struct State {
    Vector h = Vector(kWidth, 0);
    Vector c = Vector(kWidth, 0);
  };

  Vector row(const std::string& table, int64_t id) const {
    const auto* begin =
        parameters_[table].const_data_ptr<double>() + id * static_cast<int64_t>(kWidth);
    return {begin, begin + kWidth};
  }

  Vector product(const std::string& name, const Vector& x, const std::string& bias = {}) const {
    const at::Tensor& weight = parameters_[name];
    const auto* w = weight.const_data_ptr<double>();
    Vector y(static_cast<std::size_t>(weight.size(0)), 0);
    if (!bias.empty()) std::copy_n(parameters_[bias].const_data_ptr<double>(), y.size(), y.data());
    for (double& value : y) {
      for (const double element : x) value += *w++ * element;
    }
    return y;
  }

  Vector dense(const std::string& layer, const Vector& x) const {
    return product(layer + ".weight", x, layer + ".bias");
  }

  static void step(const Vector& gates, State& state) {
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    for (std::size_t k = 0; k < kWidth; ++k) {
      state.c[k] = sigmoid(gates[kWidth + k]) * state.c[k] +
                   sigmoid(gates[k]) * std::tanh(gates[2 * kWidth + k]);
      state.h[k] = sigmoid(gates[3 * kWidth + k]) * std::tanh(state.c[k]);
    }
  }

  /// Calls `next` with each position's number and output; it gives the next position's word.
  void decode(const fixtures::Batch& batch, int64_t n,
              const std::function<int64_t(int64_t, const Vector&)>& next) const {
    std::vector<State> states(3);
    std::vector<Vector> memory;
    std::vector<Vector> keys;
    for (int64_t t = 0; t < batch[kSourceIds].size(0); ++t) {
      Vector x = row("source_words", batch[kSourceIds][t][n].item<int64_t>());
      for (std::size_t layer = 0; layer < 3; ++layer) {
        const std::string number = std::to_string(layer);
        Vector gates = product("encoder_input" + number, x, "encoder_bias" + number);
        const Vector recurrent = product("encoder_recurrent" + number, states[layer].h);
        for (std::size_t i = 0; i < gates.size(); ++i) gates[i] += recurrent[i];
        step(gates, states[layer]);
        x = states[layer].h;
      }
      memory.push_back(x);
      keys.push_back(product("keys", x));
    }
    Vector read(kWidth, 0);
    int64_t word = batch[kTargetIds][0][n].item<int64_t>();
    for (int64_t t = 0; t + 1 < batch[kTargetIds].size(0); ++t) {
      Vector x = dense("merge_input", joined(row("target_words", word), read));
      Vector all;
      for (std::size_t layer = 0; layer < 3; ++layer) {
        const std::string number = std::to_string(layer);
        step(
            product("decoder_weight" + number, joined(x, states[layer].h), "decoder_bias" + number),
            states[layer]);
        x = states[layer].h;
        all = joined(joined(all, states[layer].c), states[layer].h);
      }
      read = attend(memory, keys, dense("query", all));
      word = next(t, dense("merge_output", joined(x, read)));
    }
  }

  Vector attend(const std::vector<Vector>& memory, const std::vector<Vector>& keys,
                const Vector& query) const {
    Vector read(kWidth, 0);
    double total = 0;
    for (std::size_t t = 0; t < memory.size(); ++t) {
      Vector inner(kWidth);
      for (std::size_t k = 0; k < kWidth; ++k) inner[k] = std::tanh(keys[t][k] + query[k]);
      const double share = std::exp(product("score", inner)[0]);
      for (std::size_t k = 0; k < kWidth; ++k) read[k] += share * memory[t][k];
      total += share;
    }
    for (double& value : read) value /= total;
    return read;
  }

  double sampled_loss(const Vector& output, int64_t label, const ops::Candidates& candidates,
                      int64_t t) const {
    const Vector logits = product("projection", output, "projection_bias");
    const double tries = candidates.tries[t].item<double>();
    const auto corrected = [&](int64_t id) {
      const auto k = static_cast<double>(id);
      const double share = std::log((k + 2) / (k + 1)) / std::log(kWords + 1.0);
      return logits[static_cast<std::size_t>(id)] - std::log(1 - std::pow(1 - share, tries));
    };
    double total = std::exp(corrected(label));
    for (int64_t s = 0; s < candidates.ids.size(1); ++s) {
      const auto id = candidates.ids[t][s].item<int64_t>();
      if (id != label) total += std::exp(corrected(id));
    }
    return std::log(total) - corrected(label);
  }

  torch::OrderedDict<std::string, at::Tensor> parameters_;
};

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
  fixtures::Batch batch = seq2seq->pool({.batch = 2, .seed = 2}).batches[0];
  batch[kTargetWeights] = batch[kTargetWeights].to(at::kDouble);
  seq2seq->module().to(at::kDouble);
  const Reference reference(seq2seq->module());
  at::manual_seed(4);
  const auto candidates = ops::draw_log_uniform(10, kCandidates, kWords);
  tests::expect_gradients(
      seq2seq->module(),
      [&] {
        at::manual_seed(4);
        return seq2seq->loss(batch);
      },
      [&] { return reference.loss(batch, candidates); }, 8);
}

TEST_F(Seq2seq, TranslatesWithItsOwnWords) {
  fixtures::Batch batch = seq2seq->pool({.batch = 3, .seed = 2}).batches[0];
  seq2seq->module().to(at::kDouble);
  const torch::NoGradGuard no_grad;
  const at::Tensor logits = seq2seq->infer(batch);
  const Reference reference(seq2seq->module());
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
  const auto batch = seq2seq->pool({.batch = 4, .seed = 3}).batches[0];
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
  const auto batch = seq2seq->pool({.batch = 4, .seed = 3}).batches[0];
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
  const auto batch = seq2seq->pool({.batch = 4, .seed = 3}).batches[0];
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
  const auto batch = seq2seq->pool({.batch = 4, .seed = 3}).batches[0];
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
    step(0);  // only the candidates change
    seq2seq->update();
  }
  step(1e-3);
  ASSERT_LT(rate, 0.49);
  const at::Tensor bias = seq2seq->module().named_parameters()["projection_bias"];
  const at::Tensor expected = bias.detach() - rate * bias.grad();
  seq2seq->update();
  EXPECT_TRUE(bias.detach().allclose(expected, 1e-6, 1e-9));
}

/// With logits near zero the loss is ln V + ln Q for a label that Q candidates of 512 should be.
TEST_F(Seq2seq, StartsAtTheLossOfWordsAtRandom) {
  const auto full = workload("seq2seq_5x10").make(Scale::kFull);
  const auto batch = full->pool({.batch = 64, .seed = 2}).batches[0];
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
