#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <array>
#include <cstdint>
#include <string>

#include "ops/kernels/recurrent/lstm_cell.h"

namespace fathom::models {

struct NmtSizes {
  int64_t source_words;
  int64_t target_words;
  int64_t width;          ///< H, of embeddings, LSTM layers and attention
  double largest_weight;  ///< initial weights are uniform in ± this
};

/// Layers of the encoder and of the decoder.
inline constexpr std::size_t kNmtLayers = 2;

/// The results of the encoder. Each position of the decoder replaces `states` and `attention`.
struct NmtEncoding {
  at::Tensor memory;  ///< outputs of the last layer, 0 at padding: [N, S, H]
  at::Tensor keys;    ///< [N, S, H]
  at::Tensor mask;    ///< 0 at words, -infinity at padding: [N, S]
  std::array<ops::LstmState, kNmtLayers> states;
  at::Tensor attention;  ///< output of the attention layer at the previous position, [N, H]
};

/// TensorFlow NMT: an encoder and a decoder of two LSTM layers and the attention of Bahdanau et al.
/// 2015 between them. The output of the attention layer gives the logits and is part of the next
/// position's input (Luong et al. 2015, "input feeding").
class NmtNetImpl : public torch::nn::Module {
 public:
  explicit NmtNetImpl(const NmtSizes& sizes);

  /// Runs the encoder on source ids [S, N], padding before the words, and the numbers of words [N].
  NmtEncoding encode(const at::Tensor& ids, const at::Tensor& lengths);
  /// Runs the decoder at one position: words' embeddings [N, H] to outputs [N, H].
  at::Tensor decode(const at::Tensor& word, NmtEncoding& encoding);

  /// Embeddings of words of the target language: [...] to [..., H].
  at::Tensor target_words(const at::Tensor& ids);
  /// [words, H]: outputs times its transpose are logits.
  const at::Tensor& projection() const { return projection_; }

 private:
  struct Layer {
    at::Tensor input;      ///< [4H, H]
    at::Tensor recurrent;  ///< [4H, H]
    at::Tensor bias;       ///< [4H]
  };
  struct Cell {
    at::Tensor weight;  ///< [4H, inputs + H]
    at::Tensor bias;    ///< [4H]
  };

  at::Tensor matrix(const std::string& name, int64_t rows, int64_t columns);
  at::Tensor lstm_bias(const std::string& name);

  NmtSizes sizes_;
  at::Tensor source_words_;
  at::Tensor target_words_;
  std::array<Layer, kNmtLayers> encoder_;
  std::array<Cell, kNmtLayers> decoder_;
  at::Tensor keys_;
  at::Tensor query_;
  at::Tensor score_;
  at::Tensor attention_;
  at::Tensor projection_;
};
TORCH_MODULE(NmtNet);

}  // namespace fathom::models
