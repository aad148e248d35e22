#include "ops/kernels/recurrent/lstm_layers.h"

#include <ATen/ops/lstm.h>

#include "ops/kernels/recurrent/flat_weights.h"

namespace fathom::ops {
namespace {

int64_t weights_per_layer(bool biases) { return biases ? 4 : 2; }

int64_t layer_count(const std::vector<at::Tensor>& weights, bool biases) {
  return static_cast<int64_t>(weights.size()) / weights_per_layer(biases);
}

}  // namespace

void flatten_lstm_weights(const std::vector<at::Tensor>& weights, bool biases) {
  flatten_weights(weights, {.mode = kLstmMode,
                            .per_layer = weights_per_layer(biases),
                            .layers = layer_count(weights, biases),
                            .bidirectional = false});
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm(const at::Tensor& x, const at::Tensor& h,
                                                    const at::Tensor& c,
                                                    const std::vector<at::Tensor>& weights,
                                                    bool biases, bool train) {
  return in_cudnn_type(x, {h, c}, weights,
                       [&](const at::Tensor& in, const std::vector<at::Tensor>& states,
                           const std::vector<at::Tensor>& flat) {
                         flatten_lstm_weights(flat, biases);
                         return at::lstm(in, states, flat, biases, layer_count(flat, biases),
                                         /*dropout=*/0, train,
                                         /*bidirectional=*/false, /*batch_first=*/false);
                       });
}

}  // namespace fathom::ops
