#include "ops/kernels/recurrent/lstm_layers.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_cudnn_rnn_flatten_weight.h>
#include <ATen/ops/_use_cudnn_rnn_flatten_weight.h>
#include <ATen/ops/lstm.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace fathom::ops {
namespace {

int64_t weights_per_layer(bool biases) { return biases ? 4 : 2; }

int64_t layer_count(const std::vector<at::Tensor>& weights, bool biases) {
  return static_cast<int64_t>(weights.size()) / weights_per_layer(biases);
}

}  // namespace

void flatten_lstm_weights(const std::vector<at::Tensor>& weights, bool biases) {
  constexpr int64_t kLstmMode = 2;  // CUDNN_LSTM
  const bool flat = weights.front().storage().data() == weights.back().storage().data();
  if (flat || !weights.front().is_cuda() || !at::_use_cudnn_rnn_flatten_weight()) return;
  const at::NoGradGuard no_grad;
  at::_cudnn_rnn_flatten_weight(weights, weights_per_layer(biases),
                                /*input_size=*/weights[0].size(1), kLstmMode,
                                /*hidden_size=*/weights[1].size(1), /*proj_size=*/0,
                                layer_count(weights, biases), /*batch_first=*/false,
                                /*bidirectional=*/false);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm(const at::Tensor& x, const at::Tensor& h,
                                                    const at::Tensor& c,
                                                    const std::vector<at::Tensor>& weights,
                                                    bool biases, bool train) {
  const auto run = [&](const at::Tensor& in, const std::vector<at::Tensor>& states,
                       const std::vector<at::Tensor>& flat) {
    flatten_lstm_weights(flat, biases);
    return at::lstm(in, states, flat, biases, layer_count(flat, biases), /*dropout=*/0, train,
                    /*bidirectional=*/false, /*batch_first=*/false);
  };
  if (!x.is_cuda() || !at::autocast::is_autocast_enabled(at::kCUDA)) return run(x, {h, c}, weights);
  const at::ScalarType type = at::autocast::get_autocast_dtype(at::kCUDA);
  std::vector<at::Tensor> rounded;
  for (const auto& weight : weights) rounded.push_back(weight.to(type));
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCUDA);
  return run(x.to(type), {h.to(type), c.to(type)}, rounded);
}

}  // namespace fathom::ops
