// gpt2: Radford, Wu, Child, Luan, Amodei and Sutskever, "Language Models are Unsupervised Multitask
// Learners", 2019: the smallest model, 12 layers of 768 units, trained as by nanoGPT: AdamW, no
// dropout. Inference is a prefill: it gives the logits of the token after a sequence.
// gpt2_1024: the same network on its longest sequences.
// gpt2_decode: one token after 512 tokens whose keys and values are in a cache.
#include <ATen/ops/constant_pad_nd.h>
#include <torch/nn/functional/loss.h>

#include <string>
#include <utility>
#include <vector>

#include "fixtures/text/token_sequences.h"
#include "models/lm/gpt2_net.h"
#include "models/optimizers.h"
#include "models/table.h"

namespace fathom::models {
namespace {

constexpr double kRate = 6e-4;
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.95;
constexpr double kWeightDecay = 0.1;
constexpr double kMaxNorm = 1;

struct Sizes {
  Gpt2Sizes net;
  int64_t tokens;  ///< in a sequence
};

Sizes sizes_of(Scale scale, int64_t tokens) {
  if (scale == Scale::kFull) {
    return {{.vocabulary = 50'257, .positions = 1'024, .layers = 12, .heads = 12, .width = 768},
            tokens};
  }
  constexpr int64_t kShrink = 32;
  return {{.vocabulary = 64, .positions = 32, .layers = 2, .heads = 4, .width = 32},
          tokens / kShrink};
}

class Gpt2 : public Workload {
 public:
  explicit Gpt2(const Sizes& sizes) : sizes_(sizes), net_(sizes.net) {
    for (const auto& parameter : net_->parameters()) {
      (parameter.dim() > 1 ? matrices_ : vectors_).push_back(parameter);
    }
  }

  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    return fixtures::token_sequences({.vocabulary = sizes_.net.vocabulary, .tokens = sizes_.tokens},
                                     request);
  }
  /// Logits of the token after each sequence.
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {batch, sizes_.net.vocabulary};
  }

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
  const Gpt2Net& net() const { return net_; }
  Gpt2Net& net() { return net_; }

 private:
  Sizes sizes_;
  Gpt2Net net_;
  std::vector<at::Tensor> matrices_;  ///< parameters with weight decay
  std::vector<at::Tensor> vectors_;   ///< parameters without
  Optimizer matrix_optimizer_ = adamw(kRate, kWeightDecay, kBeta1, kBeta2);
  Optimizer vector_optimizer_ = adamw(kRate, 0, kBeta1, kBeta2);
};

class Gpt2Decode final : public Gpt2 {
 public:
  using Gpt2::Gpt2;

  /// {tokens [N, T], next tokens [N, T], the token to decode [N, 1]}. All batches have the first
  /// one's T tokens, so that one cache serves them.
  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    fixtures::BatchSet set = Gpt2::batches(request);
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
    net()->forward(batch[fixtures::kTokens], &cache_);
    for (std::size_t layer = 0; layer < cache_.size(); ++layer) {
      const auto kept = [&](const char* name, at::Tensor& tensor) {
        tensor = net()->register_buffer(name + std::to_string(layer),
                                        at::constant_pad_nd(tensor, {0, 0, 0, 1}));
      };
      kept("keys", cache_[layer].keys);
      kept("values", cache_[layer].values);
    }
  }

  /// All but the table of positions, of which a step reads one row.
  std::optional<double> infer_bytes() const override {
    double bytes = 0;
    const auto count = [&](const at::Tensor& tensor) {
      bytes += static_cast<double>(tensor.nbytes());
    };
    for (const auto& weight : net()->named_parameters()) {
      if (weight.key() != "wpe.weight") count(*weight);
    }
    for (const auto& kept : net()->buffers()) count(kept);
    return bytes;
  }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return net()->logits(net()->decode(batch.back(), cache_).select(1, -1));
  }

 private:
  KeyValueCache cache_;
};

}  // namespace

std::unique_ptr<Workload> make_gpt2(Scale scale) {
  return std::make_unique<Gpt2>(sizes_of(scale, 256));
}

std::unique_ptr<Workload> make_gpt2_1024(Scale scale) {
  return std::make_unique<Gpt2>(sizes_of(scale, 1'024));
}

std::unique_ptr<Workload> make_gpt2_decode(Scale scale) {
  return std::make_unique<Gpt2Decode>(sizes_of(scale, 512));
}

}  // namespace fathom::models
