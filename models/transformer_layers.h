#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/linear.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ops/kernels/add_norm.h"

namespace fathom::models {

/// What a layer's attention keeps of S positions: [N, heads, S, width / heads] each.
struct KeysValues {
  at::Tensor keys;
  at::Tensor values;
};

/// The cache of a layer.
struct LayerCache : KeysValues {
  KeysValues reserved;  ///< the same with places for later tokens
};

/// One element for each layer.
using KeyValueCache = std::vector<LayerCache>;

/// Gives `copies` sequences what the cache knows of one, until reserve() as views of the same.
inline void repeat(KeyValueCache& cache, int64_t copies) {
  for (LayerCache& layer : cache) {
    layer.keys = layer.keys.expand({copies, -1, -1, -1});
    layer.values = layer.values.expand({copies, -1, -1, -1});
  }
}

/// Reserves places for `count` more tokens.
inline void reserve(KeyValueCache& cache, int64_t count) {
  const auto padded = [count](const at::Tensor& kept) {
    return at::constant_pad_nd(kept, {0, 0, 0, count});
  };
  for (LayerCache& layer : cache)
    layer.reserved = {.keys = padded(layer.keys), .values = padded(layer.values)};
}

/// Adds a reserved place for the next token.
inline void advance(KeyValueCache& cache) {
  for (LayerCache& layer : cache) {
    const int64_t count = layer.keys.size(2) + 1;
    layer.keys = layer.reserved.keys.narrow(2, 0, count);
    layer.values = layer.reserved.values.narrow(2, 0, count);
  }
}

/// Calls visit(name, tensor) for each tensor of the cache.
template <typename Visit>
void visit_cache(KeyValueCache& cache, const Visit& visit) {
  for (std::size_t layer = 0; layer < cache.size(); ++layer) {
    visit("keys" + std::to_string(layer), cache[layer].keys);
    visit("values" + std::to_string(layer), cache[layer].values);
  }
}

/// Normalises the rows of [..., width].
inline torch::nn::LayerNorm layer_norm(int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

/// The states x + update, [N, T, width] each. The normalisation that reads them adds them.
struct Residual {
  at::Tensor x;
  at::Tensor update;  ///< undefined: 0
};

/// The states and their normalisation.
inline ops::SumAndNorm normalised(const Residual& in, torch::nn::LayerNorm& norm) {
  if (!in.update.defined()) return {in.x, norm(in.x)};
  return ops::fused_add_layer_norm(in.x, in.update, norm->weight, norm->bias, norm->options.eps());
}

/// LibTorch's C++ layer would add the bias of [N, T, outputs] in a pass of its own.
inline at::Tensor dense(const torch::nn::Linear& layer, const at::Tensor& x) {
  return at::linear(x, layer->weight, layer->bias);
}

/// [N, T, width] to [N, heads, T, width / heads].
inline at::Tensor split_heads(const at::Tensor& x, int64_t heads) {
  return x.unflatten(2, {heads, -1}).transpose(1, 2);
}

/// [N, heads, T, width / heads] to [N, T, width].
inline at::Tensor merged_heads(const at::Tensor& x) { return x.transpose(1, 2).flatten(2); }

}  // namespace fathom::models
