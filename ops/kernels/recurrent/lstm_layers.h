#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <tuple>
#include <vector>

namespace fathom::ops {

/// CUDNN_LSTM, the mode of an LSTM in the arguments of cuDNN's and oneDNN's operators.
inline constexpr int64_t kLstmMode = 2;

/// Moves the weights of LSTM layers on a GPU into one buffer in cuDNN's layout, of which each
/// becomes a view. From other memory, LibTorch would copy them at every call. `weights` holds the
/// tensors of at::lstm: per layer [4H, I], [4H, H] and, with `biases`, two biases [4H]. Does
/// nothing on the CPU or if the weights share a buffer already.
void flatten_lstm_weights(const std::vector<at::Tensor>& weights, bool biases);

/// at::lstm over x [T, N, I] from the states h and c [layers, N, H], without dropout. On a GPU it
/// flattens the weights, and under autocast it runs in autocast's type: LibTorch would take fp16.
/// Returns the outputs [T, N, H] of the last layer and the last states h and c of all layers.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm(const at::Tensor& x, const at::Tensor& h,
                                                    const at::Tensor& c,
                                                    const std::vector<at::Tensor>& weights,
                                                    bool biases, bool train);

}  // namespace fathom::ops
