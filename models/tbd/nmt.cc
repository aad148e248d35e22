// nmt: the translation network of TBD (Zhu et al. 2018) in TensorFlow, which is TensorFlow NMT with
// the settings of TBD's code: two LSTM layers of 512 units in encoder and decoder, the source
// reversed, attention as in Bahdanau, Cho and Bengio, "Neural machine translation by jointly
// learning to align and translate", 2015, Adam, no dropout. From English to Vietnamese, in
// sentences of at most 30 words.
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>

#include <vector>

#include "fixtures/text/translations.h"
#include "models/optimizers.h"
#include "models/table.h"
#include "models/tbd/nmt_net.h"

namespace fathom::models {
namespace {

using fixtures::Batch;

constexpr double kRate = 3e-4;
constexpr double kMaxNorm = 1;

struct Sizes {
  fixtures::TranslationShape data;
  int64_t width;
  double largest_weight;  ///< for any width, activations start alike with 1 / √width
};

Sizes sizes_of(Scale scale) {
  if (scale == Scale::kFull) return {.data = {}, .width = 512, .largest_weight = 0.1};
  return {.data = {.source_vocabulary = 60, .target_vocabulary = 40, .positions = 8, .shortest = 4},
          .width = 32,
          .largest_weight = 0.4};
}

class Nmt final : public Workload {
 public:
  explicit Nmt(const Sizes& sizes)
      : data_(sizes.data),
        net_(NmtSizes{.source_words = data_.source_vocabulary,
                      .target_words = data_.target_vocabulary,
                      .width = sizes.width,
                      .largest_weight = sizes.largest_weight}) {}

  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    return fixtures::translations(data_, request);
  }
  /// Logits at every position: [T, N, vocabulary].
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {data_.positions, batch, data_.target_vocabulary};
  }

  /// Greedy decoding: each position reads the most likely word of the previous position. Goes on to
  /// the last position after the end of a sentence.
  at::Tensor infer(const Batch& batch) override {
    NmtEncoding encoding = encode(batch);
    const at::Tensor projection = net_->projection().to(encoding.keys.scalar_type()).t();
    at::Tensor logits = at::empty(output_shape(encoding.keys.size(0)), encoding.keys.options());
    at::Tensor ids = batch[fixtures::kGivenWords][0];
    for (int64_t t = 0; t < logits.size(0); ++t) {
      at::Tensor position_logits = logits[t];
      at::mm_out(position_logits, net_->decode(net_->target_words(ids), encoding), projection);
      ids = position_logits.argmax(1);
    }
    return logits;
  }

  /// Teacher forcing: each position reads the true previous word. The cross-entropy is summed over
  /// the words and ends of all sentences and divided by their number.
  at::Tensor loss(const Batch& batch) override {
    NmtEncoding encoding = encode(batch);
    std::vector<at::Tensor> outputs;
    for (const auto& word : net_->target_words(batch[fixtures::kGivenWords]).unbind()) {
      outputs.push_back(net_->decode(word, encoding));
    }
    const at::Tensor logits = at::linear(at::stack(outputs), net_->projection());
    const at::Tensor sum =
        at::cross_entropy_loss(logits.flatten(0, 1), batch[fixtures::kWantedWords].flatten(),
                               /*weight=*/{}, at::Reduction::Sum, fixtures::kIgnoredLabel);
    return sum / encoding.keys.size(0);
  }

  void update() override {
    clip_norm(*net_, kMaxNorm);
    optimizer_.step(*net_);
  }

  torch::nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

 private:
  NmtEncoding encode(const Batch& batch) {
    return net_->encode(batch[fixtures::kSourceWords], batch[fixtures::kSourceLengths]);
  }

  fixtures::TranslationShape data_;
  NmtNet net_;
  Optimizer optimizer_ = adam(kRate);
};

}  // namespace

std::unique_ptr<Workload> make_nmt(Scale scale) { return std::make_unique<Nmt>(sizes_of(scale)); }

}  // namespace fathom::models
