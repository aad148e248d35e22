#include "ops/kernels/recurrent/gru_layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

#include <tuple>
#include <vector>

#include "ops/kernels/recurrent/flat_weights.h"

namespace fathom::ops {
namespace {

constexpr int64_t kPerLayer = 4;  // weights and biases

/// The tensors of at::gru for one layer.
std::vector<at::Tensor> listed(const GruWeights& weights) {
  return {weights.input, weights.recurrent, weights.input_bias, weights.recurrent_bias};
}

void flatten(const std::vector<at::Tensor>& weights) {
  constexpr int64_t kGruMode = 3;  // CUDNN_GRU
  const bool bidirectional = std::ssize(weights) > kPerLayer;
  flatten_weights(
      weights,
      {.mode = kGruMode, .per_layer = kPerLayer, .layers = 1, .bidirectional = bidirectional});
}

/// One layer from h [directions, N, H] to [T, N, directions · H].
at::Tensor layer(const at::Tensor& x, const at::Tensor& h, const std::vector<at::Tensor>& weights,
                 bool train) {
  return in_cudnn_type(
      x, {h}, weights,
      [&](const at::Tensor& in, const std::vector<at::Tensor>& states,
          const std::vector<at::Tensor>& flat) {
        flatten(flat);
        return std::get<0>(at::gru(in, states[0], flat, /*has_biases=*/true, /*num_layers=*/1,
                                   /*dropout=*/0, train,
                                   /*bidirectional=*/std::ssize(flat) > kPerLayer,
                                   /*batch_first=*/false));
      });
}

}  // namespace

at::Tensor torch_gru(const at::Tensor& x, const at::Tensor& h, const GruWeights& weights,
                     bool train) {
  return layer(x, h.unsqueeze(0), listed(weights), train);
}

void flatten_gru_weights(const GruWeights& weights) { flatten(listed(weights)); }

at::Tensor bidirectional_gru(const at::Tensor& x, const GruWeights& ahead, const GruWeights& back) {
  const int64_t samples = x.size(1);
  const int64_t width = ahead.recurrent.size(1);
  if (x.is_cpu()) {
    const at::Tensor start = at::zeros({samples, width}, x.options());
    return gru(x, start, ahead, Direction::kForward) + gru(x, start, back, Direction::kBackward);
  }
  std::vector<at::Tensor> weights = listed(ahead);
  const std::vector<at::Tensor> others = listed(back);
  weights.insert(weights.end(), others.begin(), others.end());
  at::Tensor states;
  {
    RECORD_USER_SCOPE_WITH_INPUTS("op:gru",
                                  (std::vector<c10::IValue>{x, ahead.recurrent, back.recurrent}));
    // cuDNN has a gradient only of what it computed for training.
    states = layer(x, at::zeros({2, samples, width}, x.options()), weights,
                   /*train=*/at::GradMode::is_enabled());
  }
  return states.narrow(2, 0, width) + states.narrow(2, width, width);
}

}  // namespace fathom::ops
