#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

#include "models/transformer_layers.h"

namespace fathom::models {

struct Gpt2Sizes {
  int64_t vocabulary;
  int64_t positions;  ///< tokens in the longest sequence
  int64_t layers;
  int64_t heads;
  int64_t width;
};

/// Causal self-attention and two dense layers, each after a layer normalisation and with a
/// shortcut.
class Gpt2BlockImpl : public torch::nn::Module {
 public:
  explicit Gpt2BlockImpl(const Gpt2Sizes& sizes);

  /// States [N, T, width] to the same. Stores the keys and values in `kept` unless it is null.
  Residual forward(const Residual& in, KeysValues* kept);
  /// For the last token of S, states [N, 1, width] to the same. Writes its keys and values at the
  /// end of `cache` and attends to all S.
  Residual decode(const Residual& in, KeysValues& cache);

 private:
  struct Projected {
    at::Tensor queries;
    KeysValues own;
  };
  Projected projected(const at::Tensor& normal);
  Residual finished(const at::Tensor& x, const at::Tensor& attended);

  int64_t heads_;
  torch::nn::LayerNorm attention_norm_;
  torch::nn::Linear queries_keys_values_;
  torch::nn::Linear attention_output_;
  torch::nn::LayerNorm dense_norm_;
  torch::nn::Linear widening_;
  torch::nn::Linear narrowing_;
};
TORCH_MODULE(Gpt2Block);

/// GPT-2.
class Gpt2NetImpl : public torch::nn::Module {
 public:
  using Cache = KeyValueCache;

  explicit Gpt2NetImpl(const Gpt2Sizes& sizes);

  /// Token ids [N, T] to states [N, T, width]. Stores the keys and values of the tokens in `kept`
  /// unless it is null.
  at::Tensor forward(const at::Tensor& ids, KeyValueCache* kept = nullptr);
  /// The same for the last tokens [N, 1] of sequences whose other tokens are in `cache`. The cache
  /// has a place for the last token, which this overwrites.
  at::Tensor decode(const at::Tensor& ids, KeyValueCache& cache);
  /// States [..., width] to logits [..., vocabulary], by the matrix of the embedding.
  at::Tensor logits(const at::Tensor& states);
  /// The weights that decode() and logits() read as a whole: all but the table of positions.
  std::vector<at::Tensor> read_in_decoding() const;

 private:
  /// The embeddings of tokens [N, T], the first of which has the position `first`.
  at::Tensor embedded(const at::Tensor& ids, int64_t first);

  torch::nn::Embedding tokens_;
  torch::nn::Embedding positions_;
  std::vector<Gpt2Block> blocks_;
  torch::nn::LayerNorm norm_;
};
TORCH_MODULE(Gpt2Net);

}  // namespace fathom::models
