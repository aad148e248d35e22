#pragma once

#include <ATen/ops/constant_pad_nd.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>

#include <string>
#include <utility>
#include <vector>

#include "fixtures/text/token_sequences.h"
#include "models/optimizers.h"
#include "models/transformer_layers.h"
#include "models/workload.h"

namespace fathom::models {

/// How a language model is trained: AdamW, after the gradients are scaled to a norm of at most 1.
struct AdamWRecipe {
  double rate;
  double matrix_decay;  ///< weight decay of parameters with more than one dimension
  double vector_decay;  ///< of the others
};

/// Tokens in a sequence.
struct SequenceLengths {
  int64_t training;
  int64_t inference;
};

/// A language model on sequences of tokens. Its inference is a prefill: it gives the logits of the
/// token after a sequence. `Net` has forward(), decode(), logits() and read_in_decoding(), as
/// Gpt2Net.
template <typename Net>
class LanguageModel : public Workload {
 public:
  LanguageModel(Net net, int64_t vocabulary, const SequenceLengths& tokens,
                const AdamWRecipe& recipe)
      : net_(std::move(net)),
        vocabulary_(vocabulary),
        tokens_(tokens),
        matrix_optimizer_(adamw(recipe.rate, recipe.matrix_decay, kBeta1, kBeta2)),
        vector_optimizer_(adamw(recipe.rate, recipe.vector_decay, kBeta1, kBeta2)) {
    for (const auto& parameter : net_->parameters())
      (parameter.dim() > 1 ? matrices_ : vectors_).push_back(parameter);
  }

  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    const int64_t tokens = request.training ? tokens_.training : tokens_.inference;
    return fixtures::token_sequences({.vocabulary = vocabulary_, .tokens = tokens}, request);
  }
  /// Logits of the token after each sequence.
  std::vector<int64_t> output_shape(int64_t batch) const override { return {batch, vocabulary_}; }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return net_->logits(net_->forward(batch[fixtures::kTokens]).select(1, -1));
  }
  at::Tensor loss(const fixtures::Batch& batch) override {
    const at::Tensor logits = net_->logits(net_->forward(batch[fixtures::kTokens]));
    return torch::nn::functional::cross_entropy(logits.flatten(0, 1),
                                                batch[fixtures::kNextTokens].flatten());
  }
  void update() override {
    clip_norm(*net_, kMaxNorm);
    matrix_optimizer_.step(matrices_);
    vector_optimizer_.step(vectors_);
  }

  torch::nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override {
    std::vector<at::Tensor> state = matrix_optimizer_.state();
    for (auto& tensor : vector_optimizer_.state()) state.push_back(std::move(tensor));
    return state;
  }

 protected:
  const Net& net() const { return net_; }
  Net& net() { return net_; }

 private:
  static constexpr double kBeta1 = 0.9;
  static constexpr double kBeta2 = 0.95;
  static constexpr double kMaxNorm = 1;

  Net net_;
  int64_t vocabulary_;
  SequenceLengths tokens_;
  std::vector<at::Tensor> matrices_;
  std::vector<at::Tensor> vectors_;
  Optimizer matrix_optimizer_;
  Optimizer vector_optimizer_;
};

/// Decodes one token after a sequence whose keys and values are in a cache.
template <typename Net>
class Decoder final : public LanguageModel<Net> {
 public:
  using LanguageModel<Net>::LanguageModel;

  /// {tokens [N, T], next tokens [N, T], the token to decode [N, 1]}. All batches have the first
  /// one's T tokens, so that one cache serves them.
  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    fixtures::BatchSet set = LanguageModel<Net>::batches(request);
    const fixtures::Batch first = set.batches.at(0);
    for (auto& batch : set.batches) {
      const at::Tensor last = batch[fixtures::kNextTokens].slice(1, -1);
      batch = {first[fixtures::kTokens].clone(), first[fixtures::kNextTokens].clone(),
               last.clone()};
    }
    return set;
  }

  /// Fills the cache with the T tokens and leaves a place for one more.
  void prepare_inference(const fixtures::Batch& batch) override {
    this->net()->forward(batch[fixtures::kTokens], &cache_);
    for (std::size_t layer = 0; layer < cache_.size(); ++layer) {
      const auto kept = [&](const char* name, at::Tensor& tensor) {
        tensor = this->net()->register_buffer(name + std::to_string(layer),
                                              at::constant_pad_nd(tensor, {0, 0, 0, 1}));
      };
      kept("keys", cache_[layer].keys);
      kept("values", cache_[layer].values);
    }
  }

  std::optional<double> infer_bytes() const override {
    double bytes = 0;
    const auto count = [&](const at::Tensor& tensor) {
      bytes += static_cast<double>(tensor.nbytes());
    };
    for (const auto& weight : this->net()->read_in_decoding()) count(weight);
    for (const auto& [keys, values] : cache_) {
      count(keys);
      count(values);
    }
    return bytes;
  }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return this->net()->logits(this->net()->decode(batch.back(), cache_).select(1, -1));
  }

 private:
  KeyValueCache cache_;
};

}  // namespace fathom::models
