#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>
#include <vector>

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

struct LlamaSizes {
  int64_t vocabulary;
  int64_t layers;
  int64_t width;
  int64_t heads;
  int64_t kv_heads;  ///< heads of keys and values
  int64_t head_width;
  int64_t dense;  ///< units of the gated layer
  RotaryPositions positions;
  double deviation = 0.02;  ///< of the matrices before training
};

/// cos and sin of the angles of positions 0, 1, ...: [count, head_width] each.
ops::RotaryTable rotary_table(int64_t head_width, const RotaryPositions& positions);

/// A dense layer without a bias. LibTorch's draws its weight on one thread.
class MatrixImpl : public torch::nn::Module {
 public:
  MatrixImpl(int64_t outputs, int64_t inputs, double deviation);

  /// [..., inputs] to [..., outputs].
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
};
TORCH_MODULE(Matrix);

/// RMS normalisation of the rows of [..., width].
class RmsNormImpl : public torch::nn::Module {
 public:
  explicit RmsNormImpl(int64_t width);

  /// The states and their normalisation.
  ops::SumAndNorm forward(const Residual& in) const;

  at::Tensor weight;
};
TORCH_MODULE(RmsNorm);

/// Causal self-attention with rotary positions and a gated dense layer, each after an RMS
/// normalisation and with a shortcut.
class LlamaBlockImpl : public torch::nn::Module {
 public:
  explicit LlamaBlockImpl(const LlamaSizes& sizes);

  /// States [N, T, width] to the same, by the angles of the T positions. Stores the keys and values
  /// [N, kv_heads, T, head_width] in `kept` unless it is null.
  Residual forward(const Residual& in, const ops::RotaryTable& angles, KeysValues* kept);
  /// For the last token of S, states [N, 1, width] to the same. Writes its keys and values at the
  /// end of `cache` and attends to all S.
  Residual decode(const Residual& in, const ops::RotaryTable& angles, KeysValues& cache);

 private:
  struct Projected {
    at::Tensor queries;
    KeysValues own;
  };
  Projected projected(const at::Tensor& normal, const ops::RotaryTable& angles);
  Residual finished(const at::Tensor& x, const at::Tensor& attended);

  int64_t heads_;
  int64_t kv_heads_;
  RmsNorm attention_norm_{nullptr};
  Matrix queries_{nullptr};
  Matrix keys_{nullptr};
  Matrix values_{nullptr};
  Matrix attention_output_{nullptr};
  RmsNorm dense_norm_{nullptr};
  Matrix gate_{nullptr};
  Matrix up_{nullptr};
  Matrix down_{nullptr};
};
TORCH_MODULE(LlamaBlock);

/// Llama (Touvron et al. 2023, section 2.2, with the shared keys of Llama 2 and 3); the output
/// layer has the matrix of the embedding.
class LlamaNetImpl : public torch::nn::Module {
 public:
  explicit LlamaNetImpl(const LlamaSizes& sizes);

  /// Token ids [N, T] to states [N, T, width]. Stores the keys and values of the tokens in `kept`
  /// unless it is null.
  at::Tensor forward(const at::Tensor& ids, KeyValueCache* kept = nullptr);
  /// The same for the last tokens [N, 1] of sequences whose other tokens are in `cache`. The cache
  /// has a place for the last token, which this overwrites.
  at::Tensor decode(const at::Tensor& ids, KeyValueCache& cache);
  /// States [..., width] to logits [..., vocabulary].
  at::Tensor logits(const at::Tensor& states);
  /// The weights that decode() and logits() read as a whole.
  std::vector<at::Tensor> read_in_decoding() const { return parameters(); }

 private:
  ops::RotaryTable angles(int64_t first, int64_t count) const;

  Matrix tokens_;
  ops::RotaryTable table_;
  std::vector<LlamaBlock> blocks_;
  RmsNorm norm_;
};
TORCH_MODULE(LlamaNet);

}  // namespace fathom::models
