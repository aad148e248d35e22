// memnet: Sukhbaatar, Szlam, Weston and Fergus, "End-To-End Memory Networks", 2015, as in Fathom's
// released code: 3 hops, position encoding, temporal encoding, one memory for input and output, the
// matrix H between hops. The update clips the gradients, adds noise and clears the nil rows.
#include <ATen/Functions.h>
#include <ATen/record_function.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>

#include "fixtures/text/babi.h"
#include "models/optimizers.h"
#include "models/table.h"
#include "ops/kernels/fused_clip.h"
#include "ops/kernels/fused_composites.h"
#include "ops/kernels/memory_network.h"

namespace fathom::models {
namespace {

constexpr int kHops = 3;
constexpr int64_t kWidth = 20;  ///< embedding size, d in the paper
constexpr double kMaxNorm = 40;
constexpr double kGradientNoise = 1e-3;
constexpr fixtures::StoryShape kStories{.sentences = 10, .words = 6, .vocabulary = 20};

/// l_kj = 1 + 4 (k - d / 2) (j - J / 2) / (d J) for word j and element k, both from 1. Returns
/// [words, width]. This is twice the encoding of the paper (section 4.1).
at::Tensor position_encoding(int64_t words, int64_t width) {
  const auto centred = [](int64_t count) {
    return at::arange(1, count + 1, at::kDouble) - static_cast<double>(count) / 2;
  };
  const double area = static_cast<double>(words * width);
  return (1 + 4 * at::outer(centred(words), centred(width)) / area).to(at::kFloat);
}

/// An embedding table [words, width] with normal values. Row 0, the nil word, is zero.
at::Tensor word_table(int64_t words, int64_t width) {
  at::Tensor table = at::randn({words, width}) * 0.1;
  table[0].zero_();
  return table;
}

class MemoryNetworkImpl : public torch::nn::Module {
 public:
  MemoryNetworkImpl()
      : memory_embedding(register_parameter("A", word_table(kStories.vocabulary, kWidth))),
        question_embedding(register_parameter("B", word_table(kStories.vocabulary, kWidth))),
        temporal_encoding(register_parameter("TA", at::randn({kStories.sentences, kWidth}) * 0.1)),
        between_hops(register_parameter("H", at::randn({kWidth, kWidth}) * 0.1)),
        answer(register_parameter("W", at::randn({kWidth, kStories.vocabulary}) * 0.1)),
        position_weights(register_buffer("encoding", position_encoding(kStories.words, kWidth))) {}

  /// Maps stories [N, sentences, words] and questions [N, words] to logits [N, vocabulary].
  at::Tensor forward(const at::Tensor& stories, const at::Tensor& questions) {
    const at::Tensor memories =
        encoded(memory_embedding, stories) + temporal_encoding;  // [N, M, d]
    const at::Tensor keys = memories.transpose(1, 2);
    at::Tensor state = encoded(question_embedding, questions);  // [N, d]
    for (int hop = 0; hop < kHops; ++hop) {
      state = at::addmm(ops::memory_read(state, memories, keys), state, between_hops);
    }
    return at::mm(state, answer);
  }

  at::Tensor memory_embedding;
  at::Tensor question_embedding;
  at::Tensor temporal_encoding;
  at::Tensor between_hops;
  at::Tensor answer;
  at::Tensor position_weights;

 private:
  /// The weighted sum of the words' embeddings: [..., words] to [..., d].
  at::Tensor encoded(const at::Tensor& table, const at::Tensor& words) const {
    return ops::encoded_words(table, words, position_weights);
  }
};
TORCH_MODULE(MemoryNetwork);

class MemNet final : public Workload {
 public:
  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    return fixtures::stories(kStories, request);
  }
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {batch, kStories.vocabulary};
  }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return net_->forward(batch[fixtures::kStories], batch[fixtures::kQuestions]);
  }
  /// Summed over the batch, which the learning rate and the clipping assume.
  at::Tensor loss(const fixtures::Batch& batch) override {
    namespace functional = torch::nn::functional;
    return functional::cross_entropy(infer(batch), batch[fixtures::kAnswers],
                                     functional::CrossEntropyFuncOptions().reduction(torch::kSum));
  }
  void update() override {
    prepare_gradients();
    optimizer_.step(*net_);
  }

  torch::nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

 private:
  /// Clips the norm of each gradient, adds noise, and clears the nil rows.
  void prepare_gradients() {
    const torch::NoGradGuard no_grad;
    for (const auto& parameter : net_->parameters()) {
      at::Tensor gradient = parameter.grad();
      if (ops::fused_composites() && gradient.is_cpu()) {
        ops::fused_clip({gradient}, kMaxNorm);
      } else {
        RECORD_USER_SCOPE_WITH_INPUTS("op:clip_norm",
                                      std::vector<c10::IValue>{std::vector{gradient}});
        const at::Tensor norm = gradient.norm();
        gradient.mul_(kMaxNorm / norm.clamp_min(kMaxNorm));
      }
      gradient.add_(at::randn_like(gradient), kGradientNoise);
    }
    net_->memory_embedding.grad()[0].zero_();
    net_->question_embedding.grad()[0].zero_();
  }

  MemoryNetwork net_;
  Optimizer optimizer_ = adam(0.01);
};

}  // namespace

std::unique_ptr<Workload> make_memnet(Scale /*kFull is small enough*/) {
  return std::make_unique<MemNet>();
}

}  // namespace fathom::models
