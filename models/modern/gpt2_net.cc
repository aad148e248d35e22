#include "models/modern/gpt2_net.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>
#include <string>

namespace fathom::models {
namespace {

namespace nn = torch::nn;

/// The deviation of matrices is 0.02; that of matrices before a shortcut falls with the number of
/// shortcuts. Biases are 0.
void initialise(nn::Module& net, int64_t layers) {
  constexpr double kDeviation = 0.02;
  const torch::NoGradGuard no_grad;
  for (const auto& parameter : net.named_parameters()) {
    if (parameter->dim() > 1) {
      const bool before_shortcut =
          parameter.key().ends_with("out.weight") || parameter.key().ends_with("down.weight");
      const double shortcuts = before_shortcut ? 2 * static_cast<double>(layers) : 1;
      parameter->normal_(0, kDeviation / std::sqrt(shortcuts));
    } else if (parameter.key().ends_with("bias")) {
      parameter->zero_();
    }
  }
}

}  // namespace

Gpt2BlockImpl::Gpt2BlockImpl(const Gpt2Sizes& sizes)
    : heads_(sizes.heads),
      attention_norm_(register_module("ln_1", layer_norm(sizes.width))),
      queries_keys_values_(register_module("qkv", nn::Linear(sizes.width, 3 * sizes.width))),
      attention_output_(register_module("out", nn::Linear(sizes.width, sizes.width))),
      dense_norm_(register_module("ln_2", layer_norm(sizes.width))),
      widening_(register_module("up", nn::Linear(sizes.width, 4 * sizes.width))),
      narrowing_(register_module("down", nn::Linear(4 * sizes.width, sizes.width))) {}

Residual Gpt2BlockImpl::forward(const Residual& in, KeysValues* kept) {
  const auto [x, normal] = normalised(in, attention_norm_);
  const auto [queries, own] = projected(normal);
  if (kept != nullptr) *kept = own;
  return finished(x, at::scaled_dot_product_attention(queries, own.keys, own.values,
                                                      /*attn_mask=*/{}, /*dropout_p=*/0,
                                                      /*is_causal=*/true));
}

Residual Gpt2BlockImpl::decode(const Residual& in, KeysValues& cache) {
  const auto [x, normal] = normalised(in, attention_norm_);
  const auto [queries, own] = projected(normal);
  cache.keys.slice(2, -1).copy_(own.keys);
  cache.values.slice(2, -1).copy_(own.values);
  return finished(x, at::scaled_dot_product_attention(queries, cache.keys, cache.values));
}

Gpt2BlockImpl::Projected Gpt2BlockImpl::projected(const at::Tensor& normal) {
  const auto parts = dense(queries_keys_values_, normal).split(normal.size(2), 2);
  return {.queries = split_heads(parts[0], heads_),
          .own = {.keys = split_heads(parts[1], heads_), .values = split_heads(parts[2], heads_)}};
}

/// Adds what the heads attended to, [N, heads, T, width / heads], then the dense layers' result.
Residual Gpt2BlockImpl::finished(const at::Tensor& x, const at::Tensor& attended) {
  const Residual shortcut{x, dense(attention_output_, merged_heads(attended))};
  const auto [y, normal] = normalised(shortcut, dense_norm_);
  return {y, dense(narrowing_, at::gelu(dense(widening_, normal), "tanh"))};
}

Gpt2NetImpl::Gpt2NetImpl(const Gpt2Sizes& sizes)
    : tokens_(register_module("wte", nn::Embedding(sizes.vocabulary, sizes.width))),
      positions_(register_module("wpe", nn::Embedding(sizes.positions, sizes.width))),
      norm_(layer_norm(sizes.width)) {
  for (int64_t layer = 0; layer < sizes.layers; ++layer) {
    blocks_.emplace_back(register_module("h" + std::to_string(layer), Gpt2Block(sizes)));
  }
  register_module("ln_f", norm_);
  initialise(*this, sizes.layers);
}

at::Tensor Gpt2NetImpl::embedded(const at::Tensor& ids, int64_t first) {
  const at::Tensor positions = at::arange(first, first + ids.size(1), ids.options());
  return tokens_(ids) + positions_(positions);
}

at::Tensor Gpt2NetImpl::forward(const at::Tensor& ids, KeyValueCache* kept) {
  if (kept != nullptr) kept->resize(blocks_.size());
  Residual x{embedded(ids, 0), {}};
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    x = blocks_[layer]->forward(x, kept == nullptr ? nullptr : &(*kept)[layer]);
  }
  return normalised(x, norm_).normalised;
}

at::Tensor Gpt2NetImpl::decode(const at::Tensor& ids, KeyValueCache& cache) {
  Residual x{embedded(ids, cache.at(0).keys.size(2) - 1), {}};
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    x = blocks_[layer]->decode(x, cache[layer]);
  }
  return normalised(x, norm_).normalised;
}

at::Tensor Gpt2NetImpl::logits(const at::Tensor& states) {
  return at::linear(states, tokens_->weight);
}

std::vector<at::Tensor> Gpt2NetImpl::read_in_decoding() const {
  std::vector<at::Tensor> weights;
  for (const auto& weight : named_parameters()) {
    if (!weight->is_same(positions_->weight)) weights.push_back(*weight);
  }
  return weights;
}

}  // namespace fathom::models
