#include "models/tbd/nmt_net.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

#include "ops/kernels/additive_attention.h"
#include "ops/kernels/recurrent/lstm_recurrence.h"

namespace fathom::models {
namespace {

/// What fused_additive_attention() adds to the scores of S places before which there is padding:
/// [N, S], in the type of `keys`.
at::Tensor padding_mask(const at::Tensor& keys, const at::Tensor& lengths) {
  const at::Tensor left = at::arange(keys.size(1), 0, -1, lengths.options());
  return at::zeros({keys.size(0), keys.size(1)}, keys.options())
      .masked_fill_(left.gt(lengths.unsqueeze(1)), -std::numeric_limits<double>::infinity());
}

}  // namespace

NmtNetImpl::NmtNetImpl(const NmtSizes& sizes) : sizes_(sizes) {
  const int64_t width = sizes.width;
  source_words_ = matrix("source_words", sizes.source_words, width);
  target_words_ = matrix("target_words", sizes.target_words, width);
  for (std::size_t layer = 0; layer < kNmtLayers; ++layer) {
    const std::string number = std::to_string(layer);
    encoder_[layer] = {.input = matrix("encoder_input" + number, 4 * width, width),
                       .recurrent = matrix("encoder_recurrent" + number, 4 * width, width),
                       .bias = lstm_bias("encoder_bias" + number)};
    const int64_t inputs = layer == 0 ? 2 * width : width;  // a word and the attention
    decoder_[layer] = {.weight = matrix("decoder_weight" + number, 4 * width, inputs + width),
                       .bias = lstm_bias("decoder_bias" + number)};
  }
  keys_ = matrix("keys", width, width);
  query_ = matrix("query", width, width);
  score_ = matrix("score", 1, width);
  attention_ = matrix("attention", width, 2 * width);
  projection_ = matrix("projection", sizes.target_words, width);
}

NmtEncoding NmtNetImpl::encode(const at::Tensor& ids, const at::Tensor& lengths) {
  at::Tensor x = at::embedding(source_words_, ids);  // [S, N, H]
  NmtEncoding encoding;
  for (std::size_t layer = 0; layer < kNmtLayers; ++layer) {
    const auto& [input, recurrent, bias] = encoder_[layer];
    const auto [h, last_c] = ops::lstm_recurrence(at::linear(x, input, bias), recurrent, lengths);
    encoding.states[layer] = {.h = h[-1], .c = last_c};
    x = h;
  }
  encoding.memory = x.transpose(0, 1).contiguous();
  encoding.keys = at::linear(encoding.memory, keys_);
  encoding.mask = padding_mask(encoding.keys, lengths);
  encoding.attention = at::zeros_like(encoding.states.back().h);
  return encoding;
}

at::Tensor NmtNetImpl::decode(const at::Tensor& word, NmtEncoding& encoding) {
  at::Tensor x = at::cat({word, encoding.attention}, 1);
  for (std::size_t layer = 0; layer < kNmtLayers; ++layer) {
    auto& state = encoding.states[layer];
    state = ops::lstm_cell(x, state, decoder_[layer].weight, decoder_[layer].bias);
    x = state.h;
  }
  const at::Tensor context = ops::fused_additive_attention(
      encoding.memory, encoding.keys, at::linear(x, query_), score_, encoding.mask);
  encoding.attention = at::linear(at::cat({x, context}, 1), attention_);
  return encoding.attention;
}

at::Tensor NmtNetImpl::target_words(const at::Tensor& ids) {
  return at::embedding(target_words_, ids);
}

at::Tensor NmtNetImpl::matrix(const std::string& name, int64_t rows, int64_t columns) {
  const double largest = sizes_.largest_weight;
  return register_parameter(name, at::empty({rows, columns}).uniform_(-largest, largest));
}

/// 0, and 1 for the forget gate.
at::Tensor NmtNetImpl::lstm_bias(const std::string& name) {
  const at::Tensor bias = at::zeros({4 * sizes_.width});
  bias.narrow(0, sizes_.width, sizes_.width).fill_(1);
  return register_parameter(name, bias);
}

}  // namespace fathom::models
