// seq2seq: Sutskever, Vinyals and Le, "Sequence to sequence learning with neural networks", 2014,
// with the attention of Bahdanau et al. 2015, as in Fathom's released code and TensorFlow's
// translation tutorial: encoder and decoder with three LSTM layers of 256 units, an attention query
// from all states of the decoder, the context fed to the next position, and a sampled softmax with
// 512 candidates a position instead of 40,000 words. Source and target have 40 and 50 positions.
// seq2seq_5x10, seq2seq_10x15, seq2seq_20x25: the same network on shorter sentences.
#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <optional>

#include "fixtures/text/sentence_pairs.h"
#include "models/plateau_sgd.h"
#include "models/table.h"
#include "ops/kernels/additive_attention.h"
#include "ops/kernels/recurrent/lstm_cell.h"
#include "ops/kernels/recurrent/lstm_layers.h"
#include "ops/kernels/sampled_softmax.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;
using fixtures::Batch;

constexpr int64_t kLayers = 3;
constexpr double kMaxNorm = 5;

struct Sizes {
  fixtures::PairShape pairs;
  int64_t width;       ///< size H of embeddings, LSTM layers and attention
  int64_t candidates;  ///< sampled words a position
};

Sizes sizes(Scale scale, std::size_t bucket) {
  if (scale == Scale::kSmall) return {{.vocabulary = 50, .bucket = 0}, 16, 12};
  return {{.vocabulary = 40'000, .bucket = bucket}, 256, 512};
}

/// The results of the encoder. Each position of the decoder replaces `states` and `context`.
struct Encoding {
  at::Tensor memory;                   ///< outputs of the last layer, [N, Ts, H]
  at::Tensor keys;                     ///< [N, Ts, H]
  std::vector<ops::LstmState> states;  ///< one for each layer
  at::Tensor context;                  ///< output of the attention at the previous position, [N, H]
};

class TranslatorImpl : public nn::Module {
 public:
  explicit TranslatorImpl(const Sizes& sizes) : width_(sizes.width) {
    const int64_t words = sizes.pairs.vocabulary;
    source_words_ = matrix("source_words", words, width_);
    nn::init::uniform_(source_words_, -std::sqrt(3), std::sqrt(3));
    target_words_ = matrix("target_words", words, width_);
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      const std::string number = std::to_string(layer);
      encoder_.insert(encoder_.end(), {matrix("encoder_input" + number, 4 * width_, width_),
                                       matrix("encoder_recurrent" + number, 4 * width_, width_),
                                       lstm_bias("encoder_bias" + number),
                                       register_buffer("no_bias" + number, zero_bias())});
      decoder_.push_back({matrix("decoder_weight" + number, 4 * width_, 2 * width_),
                          lstm_bias("decoder_bias" + number)});
    }
    merge_input_ = dense("merge_input", 2 * width_);
    keys_ = matrix("keys", width_, width_);
    query_ = dense("query", 2 * kLayers * width_);
    score_ = matrix("score", 1, width_);
    merge_output_ = dense("merge_output", 2 * width_);
    projection_ = matrix("projection", words, width_);
    projection_bias_ = register_parameter("projection_bias", at::zeros({words}));
  }

  /// Runs the encoder on source ids [Ts, N].
  Encoding encode(const at::Tensor& source_ids) {
    const at::Tensor words = embedding(source_words_, source_ids);
    const at::Tensor start = at::zeros({kLayers, words.size(1), width_}, words.options());
    const auto [outputs, h, c] =
        ops::lstm(words, start, start, encoder_, /*biases=*/true, is_training());
    const at::Tensor memory = outputs.transpose(0, 1).contiguous();
    const at::Tensor keys = at::linear(memory, keys_);
    std::vector<ops::LstmState> states;
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      states.push_back({.h = h[layer], .c = c[layer]});
    }
    return {memory, keys, states, at::zeros_like(states.front().h)};
  }

  /// Runs the decoder at one position: the words' embeddings [N, H] to outputs [N, H].
  at::Tensor decode(const at::Tensor& word, Encoding& encoding) {
    at::Tensor x = merge_input_(at::cat({word, encoding.context}, 1));
    std::vector<at::Tensor> query;
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      auto& state = encoding.states[layer];
      state = ops::lstm_cell(x, state, decoder_[layer].weight, decoder_[layer].bias);
      x = state.h;
      query.insert(query.end(), {state.c, state.h});
    }
    encoding.context =
        ops::additive_attention(encoding.memory, encoding.keys, query_(at::cat(query, 1)), score_);
    return merge_output_(at::cat({x, encoding.context}, 1));
  }

  /// Embeddings of words of the target language: [...] to [..., H].
  at::Tensor target_words(const at::Tensor& ids) const { return embedding(target_words_, ids); }
  const at::Tensor& projection() const { return projection_; }
  const at::Tensor& projection_bias() const { return projection_bias_; }

 private:
  struct Cell {
    at::Tensor weight;
    at::Tensor bias;
  };

  /// Looks up rows of `table`. The gradient is sparse: it holds only the rows that were looked up.
  static at::Tensor embedding(const at::Tensor& table, const at::Tensor& ids) {
    return at::embedding(table, ids, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false,
                         /*sparse=*/true);
  }
  at::Tensor matrix(const std::string& name, int64_t rows, int64_t columns) {
    return register_parameter(name, nn::init::xavier_uniform_(at::empty({rows, columns})));
  }
  at::Tensor zero_bias() const { return at::zeros({4 * width_}); }
  at::Tensor lstm_bias(const std::string& name) {
    at::Tensor bias = zero_bias();
    bias.narrow(0, width_, width_).fill_(1);  // forget gate
    return register_parameter(name, bias);
  }
  nn::Linear dense(const char* name, int64_t in) {
    nn::Linear layer(in, width_);
    nn::init::xavier_uniform_(layer->weight);
    nn::init::zeros_(layer->bias);
    return register_module(name, layer);
  }

  int64_t width_;
  at::Tensor source_words_;
  at::Tensor target_words_;
  /// Four tensors a layer: at::lstm needs a second bias. It is zero, and all fit one flat buffer.
  std::vector<at::Tensor> encoder_;
  std::vector<Cell> decoder_;
  nn::Linear merge_input_{nullptr};
  at::Tensor keys_;
  nn::Linear query_{nullptr};
  at::Tensor score_;
  nn::Linear merge_output_{nullptr};
  at::Tensor projection_;
  at::Tensor projection_bias_;
};
TORCH_MODULE(Translator);

class Seq2seq final : public Workload {
 public:
  explicit Seq2seq(const Sizes& sizes) : sizes_(sizes), net_(sizes) {}

  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    return fixtures::sentence_pairs(sizes_.pairs, request);
  }
  /// Logits at every position: [Tt, N, vocabulary].
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {fixtures::kBuckets[sizes_.pairs.bucket].target, batch, sizes_.pairs.vocabulary};
  }

  /// Greedy decoding: each position takes the most likely word of the previous position. Computes
  /// the loss too, as Fathom does.
  at::Tensor infer(const Batch& batch) override {
    Encoding encoding = net_->encode(batch[fixtures::kSourceIds]);
    const at::ScalarType type = encoding.keys.scalar_type();
    const at::Tensor projection = net_->projection().to(type).t();
    const at::Tensor bias = net_->projection_bias().to(type);
    at::Tensor logits = at::empty(output_shape(encoding.memory.size(0)), encoding.keys.options());
    at::Tensor ids = batch[fixtures::kTargetIds][0];
    std::vector<at::Tensor> outputs;
    for (int64_t t = 0; t < logits.size(0); ++t) {
      outputs.push_back(net_->decode(net_->target_words(ids), encoding));
      at::Tensor position_logits = logits[t];
      at::addmm_out(position_logits, bias, outputs.back(), projection);
      ids = position_logits.argmax(1);
    }
    last_loss_ = sampled_loss(at::stack(outputs), batch);
    return logits;
  }

  /// Teacher forcing: each position takes the true previous word.
  at::Tensor loss(const Batch& batch) override {
    Encoding encoding = net_->encode(batch[fixtures::kSourceIds]);
    const at::Tensor ids = batch[fixtures::kTargetIds].slice(0, 0, -1);
    std::vector<at::Tensor> outputs;
    for (const auto& word : net_->target_words(ids).unbind()) {
      outputs.push_back(net_->decode(word, encoding));
    }
    at::Tensor loss = sampled_loss(at::stack(outputs), batch);
    last_loss_ = loss.detach();
    return loss;
  }

  void update() override { optimizer_.step(net_->parameters(), last_loss_); }
  at::Tensor* loss_in_update() override { return &last_loss_; }
  void draw_for_replay() override {
    const ops::Candidates drawn = draw_candidates();
    if (replayed_) {
      replayed_->ids.copy_(drawn.ids);
      replayed_->tries.copy_(drawn.tries);
    } else {
      replayed_ = drawn;
    }
  }

  nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override { return {}; }

 private:
  /// The candidates of a step. The CPU draws them, as in TensorFlow. The copy from pinned memory
  /// does not wait for a GPU.
  ops::Candidates draw_candidates() const {
    ops::Candidates drawn = ops::draw_log_uniform(fixtures::kBuckets[sizes_.pairs.bucket].target,
                                                  sizes_.candidates, sizes_.pairs.vocabulary);
    const at::Device device = net_->projection().device();
    if (device.is_cpu()) return drawn;
    for (at::Tensor* tensor : {&drawn.ids, &drawn.tries}) {
      *tensor = tensor->pin_memory().to(device, /*non_blocking=*/true);
    }
    return drawn;
  }

  /// Averages the loss over each sentence's words and end word, then over the sentences.
  at::Tensor sampled_loss(const at::Tensor& outputs, const Batch& batch) {
    const at::Tensor& weights = batch[fixtures::kTargetWeights];
    const ops::Candidates candidates = replayed_ ? *replayed_ : draw_candidates();
    const at::Tensor losses =
        ops::sampled_softmax(outputs, net_->projection(), net_->projection_bias(),
                             batch[fixtures::kTargetIds].slice(0, 1), candidates);
    return ((losses * weights).sum(0) / weights.sum(0)).mean();
  }

  Sizes sizes_;
  Translator net_;
  at::Tensor last_loss_;
  PlateauSgd optimizer_{0.5, kMaxNorm};
  std::optional<ops::Candidates> replayed_;  ///< in a CUDA graph: draw_for_replay() replaces them
};

}  // namespace

std::unique_ptr<Workload> make_seq2seq(Scale scale) {
  return std::make_unique<Seq2seq>(sizes(scale, 3));
}

std::unique_ptr<Workload> make_seq2seq_5x10(Scale scale) {
  return std::make_unique<Seq2seq>(sizes(scale, 0));
}

std::unique_ptr<Workload> make_seq2seq_10x15(Scale scale) {
  return std::make_unique<Seq2seq>(sizes(scale, 1));
}

std::unique_ptr<Workload> make_seq2seq_20x25(Scale scale) {
  return std::make_unique<Seq2seq>(sizes(scale, 2));
}

}  // namespace fathom::models
