#include "models/tbd/transformer_net.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/init.h>

#include <cmath>
#include <limits>
#include <string>

#include "fixtures/text/subword_pairs.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

constexpr double kDropout = 0.1;
constexpr double kLongestWave = 1e4;  // in units of the shortest

/// The probability of dropout in attention.
double probability(const nn::Dropout& dropout) { return dropout->is_training() ? kDropout : 0; }

/// [positions, width] as in tensor2tensor: sines in the first half of the channels, cosines in the
/// last, of waves whose lengths are in geometric progression.
at::Tensor waves(const TransformerSizes& sizes) {
  const at::TensorOptions type(at::kDouble);
  const int64_t count = sizes.width / 2;
  const double step = std::log(kLongestWave) / static_cast<double>(count - 1);
  const at::Tensor frequencies = (at::arange(count, type) * -step).exp();
  const at::Tensor angles = at::arange(sizes.positions, type).unsqueeze(1) * frequencies;
  return at::cat({angles.sin(), angles.cos()}, 1).to(at::kFloat);
}

/// Matrices are Glorot and Bengio's, biases are 0, and a row of the embedding has the norm 1 on
/// average.
void initialise(nn::Module& net, int64_t width) {
  const torch::NoGradGuard no_grad;
  for (const auto& parameter : net.named_parameters()) {
    if (parameter.key() == "words.weight") {
      parameter->normal_(0, 1 / std::sqrt(static_cast<double>(width)));
    } else if (parameter->dim() > 1) {
      nn::init::xavier_uniform_(*parameter);
    } else if (parameter.key().ends_with("bias")) {
      parameter->zero_();
    }
  }
}

}  // namespace

SelfAttentionImpl::SelfAttentionImpl(const TransformerSizes& sizes)
    : heads_(sizes.heads),
      queries_keys_values_(register_module("qkv", nn::Linear(sizes.width, 3 * sizes.width))),
      output_(register_module("out", nn::Linear(sizes.width, sizes.width))),
      dropout_(register_module("dropout", nn::Dropout(kDropout))) {}

at::Tensor SelfAttentionImpl::forward(const at::Tensor& x, const std::optional<at::Tensor>& mask) {
  const auto [queries, own] = projected(x);
  const at::Tensor attended =
      at::scaled_dot_product_attention(queries, own.keys, own.values, mask, probability(dropout_),
                                       /*is_causal=*/!mask.has_value());
  return dense(output_, merged_heads(attended));
}

at::Tensor SelfAttentionImpl::decode(const at::Tensor& x, const KeysValues& cache, int64_t t) {
  const auto [queries, own] = projected(x);
  cache.keys.slice(2, t, t + 1).copy_(own.keys);
  cache.values.slice(2, t, t + 1).copy_(own.values);
  const at::Tensor attended = at::scaled_dot_product_attention(
      queries, cache.keys.slice(2, 0, t + 1), cache.values.slice(2, 0, t + 1));
  return dense(output_, merged_heads(attended));
}

SelfAttentionImpl::Projected SelfAttentionImpl::projected(const at::Tensor& x) {
  const auto parts = dense(queries_keys_values_, x).chunk(3, 2);
  return {.queries = split_heads(parts[0], heads_),
          .own = {.keys = split_heads(parts[1], heads_), .values = split_heads(parts[2], heads_)}};
}

CrossAttentionImpl::CrossAttentionImpl(const TransformerSizes& sizes)
    : heads_(sizes.heads),
      queries_(register_module("q", nn::Linear(sizes.width, sizes.width))),
      keys_values_(register_module("kv", nn::Linear(sizes.width, 2 * sizes.width))),
      output_(register_module("out", nn::Linear(sizes.width, sizes.width))),
      dropout_(register_module("dropout", nn::Dropout(kDropout))) {}

KeysValues CrossAttentionImpl::keys_values(const at::Tensor& states) {
  const auto parts = dense(keys_values_, states).chunk(2, 2);
  return {.keys = split_heads(parts[0], heads_), .values = split_heads(parts[1], heads_)};
}

at::Tensor CrossAttentionImpl::forward(const at::Tensor& x, const Memory& memory) {
  const at::Tensor attended =
      at::scaled_dot_product_attention(split_heads(dense(queries_, x), heads_), memory.own.keys,
                                       memory.own.values, memory.mask, probability(dropout_));
  return dense(output_, merged_heads(attended));
}

FeedForwardImpl::FeedForwardImpl(const TransformerSizes& sizes)
    : widening_(register_module("up", nn::Linear(sizes.width, sizes.hidden))),
      narrowing_(register_module("down", nn::Linear(sizes.hidden, sizes.width))),
      dropout_(register_module("dropout", nn::Dropout(kDropout))) {}

at::Tensor FeedForwardImpl::forward(const at::Tensor& x) {
  return dense(narrowing_, dropout_(at::relu(dense(widening_, x))));
}

EncoderLayerImpl::EncoderLayerImpl(const TransformerSizes& sizes)
    : attention_norm_(register_module("ln_1", layer_norm(sizes.width))),
      attention_(register_module("self", SelfAttention(sizes))),
      dense_norm_(register_module("ln_2", layer_norm(sizes.width))),
      dense_(register_module("ffn", FeedForward(sizes))),
      dropout_(register_module("dropout", nn::Dropout(kDropout))) {}

Residual EncoderLayerImpl::forward(const Residual& in, const at::Tensor& mask) {
  const auto [x, normal] = normalised(in, attention_norm_);
  const auto [y, inner] = normalised({x, dropout_(attention_(normal, mask))}, dense_norm_);
  return {y, dropout_(dense_(inner))};
}

DecoderLayerImpl::DecoderLayerImpl(const TransformerSizes& sizes)
    : attention_norm_(register_module("ln_1", layer_norm(sizes.width))),
      attention_(register_module("self", SelfAttention(sizes))),
      cross_norm_(register_module("ln_2", layer_norm(sizes.width))),
      cross_attention_(register_module("cross", CrossAttention(sizes))),
      dense_norm_(register_module("ln_3", layer_norm(sizes.width))),
      dense_(register_module("ffn", FeedForward(sizes))),
      dropout_(register_module("dropout", nn::Dropout(kDropout))) {}

Residual DecoderLayerImpl::forward(const Residual& in, const Memory& memory) {
  const auto [x, normal] = normalised(in, attention_norm_);
  return finished(x, attention_(normal, std::nullopt), memory);
}

Residual DecoderLayerImpl::decode(const Residual& in, const Memory& memory, const KeysValues& cache,
                                  int64_t t) {
  const auto [x, normal] = normalised(in, attention_norm_);
  return finished(x, attention_->decode(normal, cache, t), memory);
}

Residual DecoderLayerImpl::finished(const at::Tensor& x, const at::Tensor& attended,
                                    const Memory& memory) {
  const auto [y, normal] = normalised({x, dropout_(attended)}, cross_norm_);
  const auto [z, inner] = normalised({y, dropout_(cross_attention_(normal, memory))}, dense_norm_);
  return {z, dropout_(dense_(inner))};
}

TransformerNetImpl::TransformerNetImpl(const TransformerSizes& sizes)
    : words_(register_module("words", nn::Embedding(sizes.vocabulary, sizes.width))),
      positions_(register_buffer("positions", waves(sizes))),
      encoder_norm_(layer_norm(sizes.width)),
      decoder_norm_(layer_norm(sizes.width)),
      dropout_(register_module("dropout", nn::Dropout(kDropout))) {
  for (int64_t layer = 0; layer < sizes.layers; ++layer) {
    encoder_.emplace_back(register_module("e" + std::to_string(layer), EncoderLayer(sizes)));
  }
  register_module("e_ln", encoder_norm_);
  for (int64_t layer = 0; layer < sizes.layers; ++layer) {
    decoder_.emplace_back(register_module("d" + std::to_string(layer), DecoderLayer(sizes)));
  }
  register_module("d_ln", decoder_norm_);
  initialise(*this, sizes.width);
}

at::Tensor TransformerNetImpl::embedded(const at::Tensor& ids, int64_t first) {
  const double scale = std::sqrt(static_cast<double>(words_->options.embedding_dim()));
  const at::Tensor positions = positions_.slice(0, first, first + ids.size(1));
  return dropout_(words_(ids) * scale + positions);
}

TransformerNetImpl::Encoded TransformerNetImpl::encode(const at::Tensor& source) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  const at::Tensor mask =
      at::zeros({source.size(0), 1, 1, source.size(1)}, positions_.options())
          .masked_fill_(source.eq(fixtures::kPaddingId).unsqueeze(1).unsqueeze(1), kHidden);
  Residual x{embedded(source, 0), {}};
  for (auto& layer : encoder_) x = layer(x, mask);
  return {.states = normalised(x, encoder_norm_).normalised, .mask = mask};
}

at::Tensor TransformerNetImpl::forward(const at::Tensor& source, const at::Tensor& previous) {
  const auto [states, mask] = encode(source);
  Residual x{embedded(previous, 0), {}};
  for (auto& layer : decoder_) {
    x = layer(x, Memory{.own = layer->keys_values(states), .mask = mask});
  }
  return normalised(x, decoder_norm_).normalised;
}

at::Tensor TransformerNetImpl::logits(const at::Tensor& states) {
  return at::linear(states, words_->weight);
}

at::Tensor TransformerNetImpl::translate(const at::Tensor& source) {
  const auto [states, mask] = encode(source);
  const int64_t positions = positions_.size(0);
  std::vector<Memory> memories;
  std::vector<KeysValues> caches;
  for (auto& layer : decoder_) {
    memories.push_back({.own = layer->keys_values(states), .mask = mask});
    const at::Tensor& keys = memories.back().own.keys;
    const auto cache = [&] {
      return keys.new_empty({keys.size(0), keys.size(1), positions, keys.size(3)});
    };
    caches.push_back({.keys = cache(), .values = cache()});
  }
  // In the type of the layers' results, which autocast chooses.
  const at::Tensor words = words_->weight.to(memories[0].own.keys.scalar_type()).t();
  at::Tensor logits = at::empty({positions, source.size(0), words.size(1)}, words.options());
  at::Tensor ids = at::zeros({source.size(0), 1}, source.options());  // padding
  for (int64_t t = 0; t < positions; ++t) {
    Residual x{embedded(ids, t), {}};
    for (std::size_t layer = 0; layer < decoder_.size(); ++layer) {
      x = decoder_[layer]->decode(x, memories[layer], caches[layer], t);
    }
    at::Tensor position_logits = logits[t];
    const at::Tensor last = normalised(x, decoder_norm_).normalised.squeeze(1);
    at::mm_out(position_logits, last.to(words.scalar_type()), words);
    ids = position_logits.argmax(1, /*keepdim=*/true);
  }
  return logits;
}

}  // namespace fathom::models
