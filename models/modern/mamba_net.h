#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/modern/layers.h"
#include "ops/kernels/sequence/selective_scan.h"

namespace fathom::models {

struct MambaSizes {
  int64_t vocabulary;
  int64_t layers;
  int64_t width;
  int64_t inner;   ///< channels of the convolution and of the scan
  int64_t states;  ///< of a channel
  int64_t taps;    ///< of the convolution
  int64_t rank;    ///< of the projection to step sizes
};

/// What a layer knows of the tokens before one.
struct MambaState {
  at::Tensor window;  ///< [N, taps - 1, inner]: the last inputs of the convolution
  at::Tensor scan;    ///< [N, states, inner]
};

/// A layer's state before the token that decode() takes, and after it.
struct MambaStates {
  MambaState before;
  MambaState after;
};

/// One element for each layer.
using MambaCache = std::vector<MambaStates>;

/// Gives `copies` sequences what the cache knows of one.
inline void repeat(MambaCache& cache, int64_t copies) {
  for (MambaStates& layer : cache) {
    layer.after = {.window = layer.after.window.repeat_interleave(copies, 0),
                   .scan = layer.after.scan.repeat_interleave(copies, 0)};
  }
}

/// Its size does not grow.
inline void reserve(MambaCache& /*cache*/, int64_t /*count*/) {}

/// Goes on to the next token.
void advance(MambaCache& cache);

/// Calls visit(name, tensor) for each tensor that decode() reads.
template <typename Visit>
void visit_cache(MambaCache& cache, const Visit& visit) {
  for (std::size_t layer = 0; layer < cache.size(); ++layer) {
    visit("window" + std::to_string(layer), cache[layer].before.window);
    visit("scan" + std::to_string(layer), cache[layer].before.scan);
  }
}

/// A convolution and a selective scan, which a gate multiplies, after a normalisation and with a
/// shortcut.
class MambaBlockImpl : public torch::nn::Module {
 public:
  explicit MambaBlockImpl(const MambaSizes& sizes);

  /// States [N, T, width] to the same. Stores the state after the T tokens in `kept` unless it is
  /// null.
  Residual forward(const Residual& in, MambaStates* kept);
  /// For one token, [N, 1, width].
  Residual decode(const Residual& in, MambaStates& cache);

 private:
  at::Tensor convolved(const at::Tensor& x, bool has_history) const;
  ops::ScanResult scanned(const at::Tensor& u, const at::Tensor& z, const at::Tensor& state) const;

  int64_t rank_;
  int64_t states_;
  RmsNorm norm_;
  Matrix in_;  ///< to the convolution's input and the gate
  at::Tensor taps_;
  at::Tensor taps_bias_;
  Matrix selection_;  ///< to the step sizes' projection, b and c
  Matrix steps_;
  at::Tensor steps_bias_;
  at::Tensor log_rates_;
  at::Tensor skip_;
  Matrix out_;
};
TORCH_MODULE(MambaBlock);

/// Mamba (Gu and Dao 2023, section 3.4); the output layer has the matrix of the embedding.
class MambaNetImpl : public torch::nn::Module {
 public:
  using Cache = MambaCache;

  explicit MambaNetImpl(const MambaSizes& sizes);

  /// Token ids [N, T] to states [N, T, width]. Stores the state after the tokens in `kept` unless
  /// it is null; advance() makes it the state before the next.
  at::Tensor forward(const at::Tensor& ids, MambaCache* kept = nullptr);
  /// The same for one token [N, 1] after those that `cache` knows. It writes the states after it
  /// beside those before it.
  at::Tensor decode(const at::Tensor& ids, MambaCache& cache);
  /// States [..., width] to logits [..., vocabulary].
  at::Tensor logits(const at::Tensor& states);
  /// The weights that decode() and logits() read as a whole.
  std::vector<at::Tensor> read_in_decoding() const { return parameters(); }

 private:
  Matrix tokens_;
  std::vector<MambaBlock> blocks_;
  RmsNorm norm_;
};
TORCH_MODULE(MambaNet);

}  // namespace fathom::models
