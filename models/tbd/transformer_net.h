#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "models/transformer_layers.h"

namespace fathom::models {

struct TransformerSizes {
  int64_t vocabulary;  ///< of both languages
  int64_t positions;   ///< in the longest sentence
  int64_t layers;      ///< of the encoder; the decoder has as many
  int64_t heads;
  int64_t width;
  int64_t hidden;  ///< units between the dense layers
};

/// Attention of several heads (Vaswani et al. 2017, section 3.2.2) to the same sentence.
class SelfAttentionImpl : public torch::nn::Module {
 public:
  explicit SelfAttentionImpl(const TransformerSizes& sizes);

  /// [N, T, width] to the same. The mask [N, 1, 1, T] is added to the scores; without one, each
  /// position sees itself and those before it.
  at::Tensor forward(const at::Tensor& x, const std::optional<at::Tensor>& mask);
  /// The same for position `t` alone, [N, 1, width]. Writes its keys and values into `cache`, which
  /// holds those of the positions before it.
  at::Tensor decode(const at::Tensor& x, const KeysValues& cache, int64_t t);

 private:
  struct Projected {
    at::Tensor queries;
    KeysValues own;
  };
  Projected projected(const at::Tensor& x);

  int64_t heads_;
  torch::nn::Linear queries_keys_values_;
  torch::nn::Linear output_;
  torch::nn::Dropout dropout_;
};
TORCH_MODULE(SelfAttention);

/// An encoded sentence as one layer of the decoder sees it.
struct Memory {
  KeysValues own;
  at::Tensor mask;  ///< [N, 1, 1, S], added to the scores
};

/// Attention of several heads to the encoded sentence.
class CrossAttentionImpl : public torch::nn::Module {
 public:
  explicit CrossAttentionImpl(const TransformerSizes& sizes);

  /// Of the encoder's states [N, S, width].
  KeysValues keys_values(const at::Tensor& states);
  /// [N, T, width] to the same.
  at::Tensor forward(const at::Tensor& x, const Memory& memory);

 private:
  int64_t heads_;
  torch::nn::Linear queries_;
  torch::nn::Linear keys_values_;
  torch::nn::Linear output_;
  torch::nn::Dropout dropout_;
};
TORCH_MODULE(CrossAttention);

/// Two dense layers with a ReLU between them: [N, T, width] to the same.
class FeedForwardImpl : public torch::nn::Module {
 public:
  explicit FeedForwardImpl(const TransformerSizes& sizes);
  at::Tensor forward(const at::Tensor& x);

 private:
  torch::nn::Linear widening_;
  torch::nn::Linear narrowing_;
  torch::nn::Dropout dropout_;
};
TORCH_MODULE(FeedForward);

/// Each part of a layer comes after a layer normalisation and has a shortcut.
class EncoderLayerImpl : public torch::nn::Module {
 public:
  explicit EncoderLayerImpl(const TransformerSizes& sizes);

  /// [N, S, width] to the same. The mask is [N, 1, 1, S].
  Residual forward(const Residual& in, const at::Tensor& mask);

 private:
  torch::nn::LayerNorm attention_norm_;
  SelfAttention attention_;
  torch::nn::LayerNorm dense_norm_;
  FeedForward dense_;
  torch::nn::Dropout dropout_;
};
TORCH_MODULE(EncoderLayer);

/// The same with attention to the encoded sentence.
class DecoderLayerImpl : public torch::nn::Module {
 public:
  explicit DecoderLayerImpl(const TransformerSizes& sizes);

  /// Of the encoder's states [N, S, width].
  KeysValues keys_values(const at::Tensor& states) { return cross_attention_->keys_values(states); }
  /// [N, T, width] to the same.
  Residual forward(const Residual& in, const Memory& memory);
  /// The same for position `t` alone, as SelfAttention::decode().
  Residual decode(const Residual& in, const Memory& memory, const KeysValues& cache, int64_t t);

 private:
  /// Adds the result of self-attention to x, then the parts after it.
  Residual finished(const at::Tensor& x, const at::Tensor& attended, const Memory& memory);

  torch::nn::LayerNorm attention_norm_;
  SelfAttention attention_;
  torch::nn::LayerNorm cross_norm_;
  CrossAttention cross_attention_;
  torch::nn::LayerNorm dense_norm_;
  FeedForward dense_;
  torch::nn::Dropout dropout_;
};
TORCH_MODULE(DecoderLayer);

/// The network of Vaswani et al. 2017 with the normalisation before each part of a layer. Padding,
/// id 0, is masked in the source sentence, and is before the first id of a target.
class TransformerNetImpl : public torch::nn::Module {
 public:
  explicit TransformerNetImpl(const TransformerSizes& sizes);

  /// Ids of the source sentence [N, S] and those before each of the target [N, T] to states [N, T,
  /// width].
  at::Tensor forward(const at::Tensor& source, const at::Tensor& previous);
  /// States [..., width] to logits [..., vocabulary], by the matrix of the embedding.
  at::Tensor logits(const at::Tensor& states);
  /// Greedy decoding of [N, S]: each position reads the most likely id of the one before it. Gives
  /// the logits of all positions, [positions, N, vocabulary].
  at::Tensor translate(const at::Tensor& source);

 private:
  struct Encoded {
    at::Tensor states;  ///< [N, S, width]
    at::Tensor mask;    ///< [N, 1, 1, S]: -infinity at padding, else 0
  };
  Encoded encode(const at::Tensor& source);
  /// The input of a stack for ids [N, T], the first of which has the position `first`.
  at::Tensor embedded(const at::Tensor& ids, int64_t first);

  torch::nn::Embedding words_;
  at::Tensor positions_;  ///< [positions, width]
  std::vector<EncoderLayer> encoder_;
  torch::nn::LayerNorm encoder_norm_;
  std::vector<DecoderLayer> decoder_;
  torch::nn::LayerNorm decoder_norm_;
  torch::nn::Dropout dropout_;
};
TORCH_MODULE(TransformerNet);

}  // namespace fathom::models
