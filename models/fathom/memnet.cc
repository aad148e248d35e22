// memnet: Sukhbaatar, Szlam, Weston and Fergus, "End-To-End Memory Networks", 2015, as Fathom's
// released code builds it: 3 hops, position encoding, a temporal row a slot, one memory for input
// and output, H between the hops; gradients clipped, then noise, then nil rows.
#include <ATen/Functions.h>
#include <ATen/record_function.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>

#include "fixtures/text/babi.h"
#include "models/optimizers.h"
#include "models/table.h"

namespace fathom::models {
namespace {

constexpr int kHops = 3;
constexpr int64_t kWidth = 20;  ///< d of the paper
constexpr double kLargestNorm = 40;
constexpr double kGradientNoise = 1e-3;
constexpr fixtures::StoryShape kStories{.sentences = 10, .words = 6, .vocabulary = 20};

/// l_kj = 1 + 4 (k - d / 2) (j - J / 2) / (d J) for word j and element k from 1: [words, width].
/// Twice the paper's (section 4.1).
at::Tensor position_encoding(int64_t words, int64_t width) {
  const auto centred = [](int64_t count) {
    return at::arange(1, count + 1, at::kDouble) - static_cast<double>(count) / 2;
  };
  const double area = static_cast<double>(words * width);
  return (1 + 4 * at::outer(centred(words), centred(width)) / area).to(at::kFloat);
}

/// A normal table whose row 0, the nil word's, is zero.
at::Tensor word_table(int64_t words, int64_t width) {
  at::Tensor table = at::randn({words, width}) * 0.1;
  table[0].zero_();
  return table;
}

class MemoryNetworkImpl : public torch::nn::Module {
 public:
  MemoryNetworkImpl()
      : memory_words(register_parameter("A", word_table(kStories.vocabulary, kWidth))),
        question_words(register_parameter("B", word_table(kStories.vocabulary, kWidth))),
        slots(register_parameter("TA", at::randn({kStories.sentences, kWidth}) * 0.1)),
        between_hops(register_parameter("H", at::randn({kWidth, kWidth}) * 0.1)),
        answer(register_parameter("W", at::randn({kWidth, kStories.vocabulary}) * 0.1)),
        encoding(register_buffer("encoding", position_encoding(kStories.words, kWidth))) {}

  /// Stories [N, sentences, words], questions [N, words] to logits [N, vocabulary].
  at::Tensor forward(const at::Tensor& stories, const at::Tensor& questions) {
    const at::Tensor memories = encoded(memory_words, stories) + slots;  // [N, M, d]
    const at::Tensor keys = memories.transpose(1, 2);
    at::Tensor state = encoded(question_words, questions);  // [N, d]
    for (int hop = 0; hop < kHops; ++hop) {
      const at::Tensor match = at::softmax(at::bmm(state.unsqueeze(1), keys), -1);  // [N, 1, M]
      const at::Tensor read = at::bmm(match, memories).squeeze(1);
      state = at::addmm(read, state, between_hops);
    }
    return at::mm(state, answer);
  }

  at::Tensor memory_words;
  at::Tensor question_words;
  at::Tensor slots;
  at::Tensor between_hops;
  at::Tensor answer;
  at::Tensor encoding;

 private:
  /// The weighted sum over the words: [..., words] to [..., d].
  at::Tensor encoded(const at::Tensor& table, const at::Tensor& words) const {
    return (at::embedding(table, words) * encoding).sum(-2);
  }
};
TORCH_MODULE(MemoryNetwork);

class MemNet final : public Workload {
 public:
  fixtures::Pool pool(const fixtures::PoolRequest& request) const override {
    return fixtures::stories(kStories, request);
  }
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {batch, kStories.vocabulary};
  }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return net_->forward(batch[fixtures::kStories], batch[fixtures::kQuestions]);
  }
  /// Summed over the batch: the rate and the clip assume that.
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
  /// Clips each tensor, then adds noise, then clears the nil rows.
  void prepare_gradients() {
    const torch::NoGradGuard no_grad;
    for (const auto& parameter : net_->parameters()) {
      at::Tensor gradient = parameter.grad();
      {
        RECORD_USER_SCOPE_WITH_INPUTS("op:clip_norm",
                                      std::vector<c10::IValue>{std::vector{gradient}});
        const at::Tensor norm = gradient.norm();
        gradient.mul_(kLargestNorm / norm.clamp_min(kLargestNorm));
      }
      gradient.add_(at::randn_like(gradient), kGradientNoise);
    }
    net_->memory_words.grad()[0].zero_();
    net_->question_words.grad()[0].zero_();
  }

  MemoryNetwork net_;
  Optimizer optimizer_ = adam(0.01);
};

}  // namespace

std::unique_ptr<Workload> make_memnet(Scale /*small as it is*/) {
  return std::make_unique<MemNet>();
}

}  // namespace fathom::models
