#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/recurrent/direction.h"

namespace fathom::ops {

/// Largest activation of a clipped ReLU, min(max(x, 0), 20): Hannun et al., "Deep Speech", 2014,
/// section 2.
inline constexpr double kClip = 20;

/// The hidden states h [T, N, H] of h_t = min(max(x_t + h_before · recurrentᵀ, 0), 20), where
/// h_before is the state of the previous frame in `direction`, zero for the first one. `x` [T, N,
/// H] holds the products with the input and `recurrent` is [H, H]. `frames` [N] (int64)
/// holds the lengths of the utterances: h is 0 beyond them, and the frames there add to no
/// gradient. The recurrence runs frame by frame; the gradient of `recurrent` is one product over
/// all frames. Under autocast both run in its type.
at::Tensor clipped_relu_rnn(const at::Tensor& x, const at::Tensor& recurrent,
                            const at::Tensor& frames, Direction direction);

struct ClippedReluRnnGradients {
  at::Tensor x;
  at::Tensor recurrent;
};

/// The gradients that autograd computes, from `g`, the gradient of the states `h`.
ClippedReluRnnGradients clipped_relu_rnn_backward(const at::Tensor& g, const at::Tensor& h,
                                                  const at::Tensor& recurrent, Direction direction);

}  // namespace fathom::ops
