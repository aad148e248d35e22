#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fixtures/batch.h"
#include "fixtures/text/sentence_pairs.h"
#include "ops/kernels/sampled_softmax.h"

namespace fathom::tests {

/// Size of both vocabularies at Scale::kSmall.
inline constexpr int64_t kWords = 50;

/// The seq2seq network in plain loops over sentences.
class Seq2seqReference {
 public:
  using Vector = std::vector<double>;

  explicit Seq2seqReference(torch::nn::Module& net) : parameters_(net.named_parameters()) {}

  double loss(const fixtures::Batch& batch, const ops::Candidates& candidates) const {
    const int64_t size = batch[fixtures::kSourceIds].size(1);
    double sum = 0;
    for (int64_t n = 0; n < size; ++n) {
      double losses = 0;
      double weights = 0;
      decode(batch, n, [&](int64_t t, const Vector& output) {
        const double weight = batch[fixtures::kTargetWeights][t][n].item<double>();
        const auto next = batch[fixtures::kTargetIds][t + 1][n].item<int64_t>();
        if (weight > 0) losses += weight * sampled_loss(output, next, candidates, t);
        weights += weight;
        return next;
      });
      sum += losses / weights;
    }
    return sum / static_cast<double>(size);
  }

  /// Logits [positions][words]. Each position reads the likeliest word of the one before.
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
  static constexpr std::size_t kWidth = 16;

  struct State {
    Vector h = Vector(kWidth, 0);
    Vector c = Vector(kWidth, 0);
  };

  static Vector joined(Vector a, const Vector& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

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

  /// Calls `next` with the index and the output of each position. It returns the word that the next
  /// position reads.
  void decode(const fixtures::Batch& batch, int64_t n,
              const std::function<int64_t(int64_t, const Vector&)>& next) const {
    std::vector<State> states(3);
    std::vector<Vector> memory;
    std::vector<Vector> keys;
    for (int64_t t = 0; t < batch[fixtures::kSourceIds].size(0); ++t) {
      Vector x = row("source_words", batch[fixtures::kSourceIds][t][n].item<int64_t>());
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
    Vector context(kWidth, 0);
    int64_t word = batch[fixtures::kTargetIds][0][n].item<int64_t>();
    for (int64_t t = 0; t + 1 < batch[fixtures::kTargetIds].size(0); ++t) {
      Vector x = dense("merge_input", joined(row("target_words", word), context));
      Vector all;
      for (std::size_t layer = 0; layer < 3; ++layer) {
        const std::string number = std::to_string(layer);
        step(
            product("decoder_weight" + number, joined(x, states[layer].h), "decoder_bias" + number),
            states[layer]);
        x = states[layer].h;
        all = joined(joined(all, states[layer].c), states[layer].h);
      }
      context = attend(memory, keys, dense("query", all));
      word = next(t, dense("merge_output", joined(x, context)));
    }
  }

  Vector attend(const std::vector<Vector>& memory, const std::vector<Vector>& keys,
                const Vector& query) const {
    Vector context(kWidth, 0);
    double total = 0;
    for (std::size_t t = 0; t < memory.size(); ++t) {
      Vector inner(kWidth);
      for (std::size_t k = 0; k < kWidth; ++k) inner[k] = std::tanh(keys[t][k] + query[k]);
      const double share = std::exp(product("score", inner)[0]);
      for (std::size_t k = 0; k < kWidth; ++k) context[k] += share * memory[t][k];
      total += share;
    }
    for (double& value : context) value /= total;
    return context;
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

}  // namespace fathom::tests
