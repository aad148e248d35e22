#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "models/modern/experts.h"
#include "models/modern/layers.h"
#include "models/transformer_layers.h"
#include "ops/kernels/rotary.h"

namespace fathom::models {

/// How Llama 3 stretches the wavelengths of rotary positions ("rope_scaling" of type "llama3" in
/// the published configurations).
struct RotaryScaling {
  double factor;
  double low;        ///< wavelengths above `positions` / low are stretched by the factor
  double high;       ///< those below `positions` / high are not
  double positions;  ///< of the original training
};

struct RotaryPositions {
  int64_t count;  ///< tokens in the longest sequence
  double base;
  std::optional<RotaryScaling> scaling = {};
};

/// Factors that Granite's published configurations have; Llama's are 1.
struct Multipliers {
  double embedding = 1;
  double residual = 1;                   ///< of what a layer adds to the states
  std::optional<double> attention = {};  ///< scale of the scores; 1 / sqrt(head_width) unless given
  double logits = 1;
};

/// A mixture of experts.
struct MixtureSizes {
  int64_t count;
  int64_t chosen;  ///< experts of a token
};

struct LlamaSizes {
  int64_t vocabulary;
  int64_t layers;
  int64_t width;
  int64_t heads;
  int64_t kv_heads;  ///< heads of keys and values
  int64_t head_width;
  int64_t dense;  ///< units of the gated layer or of each expert
  RotaryPositions positions;
  double deviation = 0.02;  ///< of the matrices before training
  double epsilon = 1e-5;    ///< of the normalisations
  Multipliers multipliers = {};
  std::optional<MixtureSizes> experts = {};
};

/// cos and sin of the angles of positions 0, 1, ...: [count, head_width] each.
ops::RotaryTable rotary_table(int64_t head_width, const RotaryPositions& positions);

/// Causal self-attention with rotary positions and a gated dense layer or a mixture of them, each
/// after an RMS normalisation and with a shortcut.
class LlamaBlockImpl : public torch::nn::Module {
 public:
  explicit LlamaBlockImpl(const LlamaSizes& sizes);

  /// States [N, T, width] to the same, by the angles of the T positions. Stores the keys and values
  /// [N, kv_heads, T, head_width] in `kept` unless it is null.
  Residual forward(const Residual& in, const ops::RotaryTable& angles, KeysValues* kept);
  /// For the last token of S, states [N, 1, width] to the same. Writes its keys and values at the
  /// end of `cache` and attends to those of the S that a mask [N, 1, 1, S] shows, or to all.
  Residual decode(const Residual& in, const ops::RotaryTable& angles, KeysValues& cache,
                  const std::optional<at::Tensor>& mask);
  /// Empty where it has a gated dense layer.
  const Experts& experts() const { return experts_; }
  Experts& experts() { return experts_; }

 private:
  struct Projected {
    at::Tensor queries;
    KeysValues own;
  };
  Projected projected(const at::Tensor& normal, const ops::RotaryTable& angles);
  /// Attention of queries [N, H, T, D] to keys and values [N, G, S, D].
  at::Tensor attended(const at::Tensor& queries, const KeysValues& to, bool causal,
                      const std::optional<at::Tensor>& mask = {}) const;
  Residual finished(const at::Tensor& x, const at::Tensor& attended);

  int64_t heads_;
  int64_t kv_heads_;
  Multipliers multipliers_;
  RmsNorm attention_norm_{nullptr};
  Matrix queries_{nullptr};
  Matrix keys_{nullptr};
  Matrix values_{nullptr};
  Matrix attention_output_{nullptr};
  RmsNorm dense_norm_{nullptr};
  Matrix gate_{nullptr};
  Matrix up_{nullptr};
  Matrix down_{nullptr};
  Experts experts_{nullptr};
};
TORCH_MODULE(LlamaBlock);

/// Llama (Touvron et al. 2023, section 2.2, with the shared keys of Llama 2 and 3); the output
/// layer has the matrix of the embedding.
class LlamaNetImpl : public torch::nn::Module {
 public:
  using Cache = KeyValueCache;

  explicit LlamaNetImpl(const LlamaSizes& sizes);

  /// Token ids [N, T], the first of which has the position `first`, to states [N, T, width]. Stores
  /// the keys and values of the tokens in `kept` unless it is null.
  at::Tensor forward(const at::Tensor& ids, KeyValueCache* kept = nullptr, int64_t first = 0);
  /// The same for the last tokens [N, 1] of sequences whose other tokens are in `cache`. The cache
  /// has a place for the last token, which this overwrites. A mask, bools [N, 1, 1, S], shows which
  /// of its S places hold tokens; all do without one.
  at::Tensor decode(const at::Tensor& ids, KeyValueCache& cache,
                    const std::optional<at::Tensor>& mask = {});
  /// States [..., width] to logits [..., vocabulary].
  at::Tensor logits(const at::Tensor& states);
  /// The weights that decode() and logits() read as a whole; of experts, those of the last call.
  std::vector<at::Tensor> read_in_decoding() const;
  /// What the layers' mixtures of experts decided in the last forward(); given once.
  std::vector<Routed> take_routed();

 private:
  at::Tensor embedded(const at::Tensor& ids) const;
  ops::RotaryTable angles(int64_t first, int64_t count) const;

  Multipliers multipliers_;
  Matrix tokens_;
  ops::RotaryTable table_;
  std::vector<LlamaBlock> blocks_;
  RmsNorm norm_;
};
TORCH_MODULE(LlamaNet);

}  // namespace fathom::models
