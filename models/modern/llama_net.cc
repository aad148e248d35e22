#include "models/modern/llama_net.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <numbers>
#include <string>
#include <utility>

#include "models/modern/parallel_fill.h"
#include "ops/kernels/fused_composites.h"
#include "ops/kernels/swiglu.h"

namespace fathom::models {
namespace {

/// [N, T, heads · D] to [N, T, heads, D].
at::Tensor as_heads(const at::Tensor& x, int64_t heads) { return x.unflatten(2, {heads, -1}); }

/// A product with 1 would still be a pass over x.
at::Tensor times(const at::Tensor& x, double factor) { return factor == 1 ? x : x * factor; }

}  // namespace

ops::RotaryTable rotary_table(int64_t head_width, const RotaryPositions& positions) {
  const at::Tensor pairs = at::arange(0, head_width, 2, at::kDouble);
  at::Tensor rates = at::pow(positions.base, pairs / -static_cast<double>(head_width));
  if (positions.scaling) {
    const auto& [factor, low, high, original] = *positions.scaling;
    // The share of a rate that stays: 0 for long wavelengths, 1 for short ones.
    const at::Tensor turns = original * rates / (2 * std::numbers::pi);
    const at::Tensor kept = ((turns - low) / (high - low)).clamp(0, 1);
    rates = rates * (kept + (1 - kept) / factor);
  }
  const at::Tensor half = at::outer(at::arange(positions.count, at::kDouble), rates);
  const at::Tensor angles = at::cat({half, half}, 1);
  return {.cos = angles.cos().to(at::kFloat), .sin = angles.sin().to(at::kFloat)};
}

LlamaBlockImpl::LlamaBlockImpl(const LlamaSizes& sizes)
    : heads_(sizes.heads), kv_heads_(sizes.kv_heads), multipliers_(sizes.multipliers) {
  const auto matrix = [&](const char* name, int64_t outputs, int64_t inputs) {
    return register_module(name, Matrix(drawn_normal({outputs, inputs}, sizes.deviation)));
  };
  const int64_t queries = sizes.heads * sizes.head_width;
  const int64_t keys = sizes.kv_heads * sizes.head_width;
  attention_norm_ = register_module("norm_1", RmsNorm(sizes.width, sizes.epsilon));
  queries_ = matrix("q", queries, sizes.width);
  keys_ = matrix("k", keys, sizes.width);
  values_ = matrix("v", keys, sizes.width);
  attention_output_ = matrix("out", sizes.width, queries);
  dense_norm_ = register_module("norm_2", RmsNorm(sizes.width, sizes.epsilon));
  if (sizes.experts) {
    experts_ = register_module("experts", Experts(ExpertSizes{.width = sizes.width,
                                                              .inner = sizes.dense,
                                                              .count = sizes.experts->count,
                                                              .chosen = sizes.experts->chosen,
                                                              .deviation = sizes.deviation}));
  } else {
    gate_ = matrix("gate", sizes.dense, sizes.width);
    up_ = matrix("up", sizes.dense, sizes.width);
    down_ = matrix("down", sizes.width, sizes.dense);
  }
}

Residual LlamaBlockImpl::forward(const Residual& in, const ops::RotaryTable& angles,
                                 KeysValues* kept) {
  const auto [x, normal] = attention_norm_(in);
  const auto [queries, own] = projected(normal, angles);
  if (kept != nullptr) *kept = own;
  return finished(x, attended(queries, own, /*causal=*/true));
}

Residual LlamaBlockImpl::decode(const Residual& in, const ops::RotaryTable& angles,
                                KeysValues& cache, const std::optional<at::Tensor>& mask) {
  const auto [x, normal] = attention_norm_(in);
  const auto [queries, own] = projected(normal, angles);
  cache.keys.slice(2, -1).copy_(own.keys);
  cache.values.slice(2, -1).copy_(own.values);
  return finished(x, attended(queries, cache, /*causal=*/false, mask));
}

LlamaBlockImpl::Projected LlamaBlockImpl::projected(const at::Tensor& normal,
                                                    const ops::RotaryTable& angles) {
  const auto rotary = ops::fused_composites() ? ops::fused_rotary : ops::rotary;
  const auto [queries, keys] =
      rotary(as_heads(queries_(normal), heads_), as_heads(keys_(normal), kv_heads_), angles);
  const at::Tensor values = as_heads(values_(normal), kv_heads_);
  return {.queries = queries.transpose(1, 2),
          .own = {.keys = keys.transpose(1, 2), .values = values.transpose(1, 2)}};
}

at::Tensor LlamaBlockImpl::attended(const at::Tensor& queries, const KeysValues& to, bool causal,
                                    const std::optional<at::Tensor>& mask) const {
  return at::scaled_dot_product_attention(queries, to.keys, to.values, mask,
                                          /*dropout_p=*/0, causal, multipliers_.attention,
                                          /*enable_gqa=*/heads_ != kv_heads_);
}

/// Adds what the heads attended to, [N, heads, T, D], then what the gated layers give.
Residual LlamaBlockImpl::finished(const at::Tensor& x, const at::Tensor& attended) {
  const double share = multipliers_.residual;
  const Residual shortcut{x, times(attention_output_(merged_heads(attended)), share)};
  const auto [y, normal] = dense_norm_(shortcut);
  if (!experts_.is_empty()) return {y, times(experts_(normal), share)};
  const auto swiglu = ops::fused_composites() ? ops::fused_swiglu : ops::swiglu;
  return {y, times(down_(swiglu(gate_(normal), up_(normal))), share)};
}

LlamaNetImpl::LlamaNetImpl(const LlamaSizes& sizes)
    : multipliers_(sizes.multipliers),
      tokens_(register_module(
          "tokens", Matrix(drawn_normal({sizes.vocabulary, sizes.width}, sizes.deviation)))),
      norm_(RmsNorm(sizes.width, sizes.epsilon)) {
  for (int64_t layer = 0; layer < sizes.layers; ++layer)
    blocks_.emplace_back(register_module("h" + std::to_string(layer), LlamaBlock(sizes)));
  register_module("norm", norm_);
  const ops::RotaryTable table = rotary_table(sizes.head_width, sizes.positions);
  table_ = {.cos = register_buffer("cos", table.cos), .sin = register_buffer("sin", table.sin)};
}

at::Tensor LlamaNetImpl::embedded(const at::Tensor& ids) const {
  return times(at::embedding(tokens_->weight, ids), multipliers_.embedding);
}

ops::RotaryTable LlamaNetImpl::angles(int64_t first, int64_t count) const {
  return {.cos = table_.cos.narrow(0, first, count), .sin = table_.sin.narrow(0, first, count)};
}

at::Tensor LlamaNetImpl::forward(const at::Tensor& ids, KeyValueCache* kept, int64_t first) {
  if (kept != nullptr) kept->resize(blocks_.size());
  const ops::RotaryTable positions = angles(first, ids.size(1));
  Residual x{embedded(ids), {}};
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer)
    x = blocks_[layer]->forward(x, positions, kept == nullptr ? nullptr : &(*kept)[layer]);
  return norm_(x).normalised;
}

at::Tensor LlamaNetImpl::decode(const at::Tensor& ids, KeyValueCache& cache,
                                const std::optional<at::Tensor>& mask) {
  const ops::RotaryTable position = angles(cache.at(0).keys.size(2) - 1, 1);
  Residual x{embedded(ids), {}};
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer)
    x = blocks_[layer]->decode(x, position, cache[layer], mask);
  return norm_(x).normalised;
}

at::Tensor LlamaNetImpl::logits(const at::Tensor& states) {
  return times(tokens_->forward(states), multipliers_.logits);
}

std::vector<Routed> LlamaNetImpl::take_routed() {
  std::vector<Routed> layers;
  for (LlamaBlock& block : blocks_) {
    if (!block->experts().is_empty()) layers.push_back(block->experts()->take_routed());
  }
  return layers;
}

std::vector<at::Tensor> LlamaNetImpl::read_in_decoding() const {
  std::vector<at::Tensor> weights;
  for (const auto& weight : named_parameters()) {
    if (weight.key().find(".experts.") == std::string::npos) weights.push_back(*weight);
  }
  for (const LlamaBlock& block : blocks_) {
    if (block->experts().is_empty()) continue;
    for (auto& weight : block->experts()->read()) weights.push_back(std::move(weight));
  }
  return weights;
}

}  // namespace fathom::models
