#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fixtures/text/token_sequences.h"
#include "models/optimizers.h"
#include "models/table.h"
#include "models/transformer_layers.h"
#include "models/workload.h"

namespace fathom::models {

/// How a language model is trained: AdamW, after the gradients are scaled to a norm of at most 1.
struct AdamWRecipe {
  double rate;
  double matrix_decay;  ///< weight decay of parameters with more than one dimension
  double vector_decay;  ///< of the others
  /// The ending of the names of parameters with two dimensions that decay as vectors.
  std::string_view not_decayed = {};
};

/// Tokens in a sequence.
struct SequenceLengths {
  int64_t training;
  int64_t inference;
  int64_t prompt = kPromptTokens;  ///< of generation
  int64_t generated = kGeneratedTokens;
};

/// A language model on sequences of tokens. Its inference is a prefill: it gives the logits of the
/// token after a sequence. `Net` has forward(), decode(), logits(), read_in_decoding() and a type
/// Cache with advance() and visit_cache(), as Gpt2Net.
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
    for (const auto& parameter : net_->named_parameters()) {
      const bool decays =
          recipe.not_decayed.empty() || !parameter.key().ends_with(recipe.not_decayed);
      (parameter->dim() > 1 && decays ? matrices_ : vectors_).push_back(*parameter);
    }
  }

  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    int64_t tokens = request.training    ? tokens_.training
                     : request.generates ? tokens_.prompt
                                         : tokens_.inference;
    if (request.context > 0) tokens = request.context;
    if (request.generates) tokens += tokens_.generated;
    return fixtures::token_sequences({.vocabulary = vocabulary_, .tokens = tokens}, request);
  }
  /// Logits of the token after each sequence.
  std::vector<int64_t> output_shape(int64_t batch) const override { return {batch, vocabulary_}; }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return net_->logits(net_->forward(batch[fixtures::kTokens]).select(1, -1));
  }
  /// The decoded tokens are those of the data set, so that steps in all precisions and on all
  /// kernels decode the same.
  at::Tensor generate(const fixtures::Batch& batch,
                      const std::function<void()>& prefilled) override {
    const at::Tensor& tokens = batch[fixtures::kTokens];
    const int64_t prompt = tokens.size(1) - tokens_.generated;
    typename Net::ContainedType::Cache cache;
    const at::Tensor states = net_->forward(tokens.narrow(1, 0, prompt), &cache);
    at::Tensor logits = net_->logits(states.select(1, -1));
    prefilled();
    reserve(cache, tokens_.generated);
    for (int64_t place = prompt; place < tokens.size(1); ++place) {
      advance(cache);
      logits = net_->logits(net_->decode(tokens.narrow(1, place, 1), cache).select(1, -1));
    }
    return logits;
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

/// Decodes one token after a sequence. A cache holds what the network keeps of the sequence.
template <typename Net>
class Decoder : public LanguageModel<Net> {
 public:
  using Cache = Net::ContainedType::Cache;
  using LanguageModel<Net>::LanguageModel;

  /// {tokens [N, T], next tokens [N, T], the token to decode [N, 1]}. All sequences of all batches
  /// have the first one's T tokens, so that the cache is computed once and for one sequence.
  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    fixtures::BatchSet set = LanguageModel<Net>::batches(request);
    const fixtures::Batch first = set.batches.at(0);
    const auto shared = [&](fixtures::SequenceField field) {
      return first[field].slice(0, 0, 1).expand_as(first[field]).clone();
    };
    for (auto& batch : set.batches) {
      const at::Tensor last = batch[fixtures::kNextTokens].slice(1, -1);
      batch = {shared(fixtures::kTokens), shared(fixtures::kNextTokens), last.clone()};
    }
    return set;
  }

  /// Each sequence gets its own copy of the cache.
  void prepare_inference(const fixtures::Batch& batch) override {
    const at::Tensor& tokens = batch[fixtures::kTokens];
    Cache cache;
    this->net()->forward(tokens.slice(0, 0, 1), &cache);
    repeat(cache, tokens.size(0));
    keep(std::move(cache));
    this->net()->decode(batch.back(), cache_);  // chooses the experts that read_in_decoding() names
  }

  std::optional<BytesRead> infer_bytes() const override {
    BytesRead bytes{.weights = 0, .cache = cache_bytes_};
    for (const auto& weight : this->net()->read_in_decoding())
      bytes.weights += static_cast<double>(weight.nbytes());
    return bytes;
  }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return this->net()->logits(this->net()->decode(batch.back(), cache_).select(1, -1));
  }

 protected:
  /// Keeps the cache of the sequences with a place for the next token.
  void keep(Cache cache) {
    cache_ = std::move(cache);
    reserve(cache_, 1);
    advance(cache_);
    visit_cache(cache_, [&](const std::string& name, at::Tensor& tensor) {
      tensor = this->net()->register_buffer(name, tensor);
      cache_bytes_ += static_cast<double>(tensor.nbytes());
    });
  }
  Cache& cache() { return cache_; }
  double cache_bytes() const { return cache_bytes_; }

 private:
  Cache cache_;
  double cache_bytes_ = 0;
};

constexpr SequenceLengths kSmallLengths{
    .training = 8, .inference = 16, .prompt = 12, .generated = 4};

/// A model of a network in its published sizes or in small ones.
template <template <typename> typename Model, typename Net, typename Sizes>
std::unique_ptr<Workload> language_model(Scale scale, const Sizes& full, const Sizes& small,
                                         const AdamWRecipe& recipe,
                                         const SequenceLengths& lengths = {.training = 256,
                                                                           .inference = 512}) {
  const bool is_full = scale == Scale::kFull;
  const Sizes& sizes = is_full ? full : small;
  return std::make_unique<Model<Net>>(Net(sizes), sizes.vocabulary,
                                      is_full ? lengths : kSmallLengths, recipe);
}

}  // namespace fathom::models
