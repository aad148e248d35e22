#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// Which end of an utterance a recurrence starts at.
enum class Direction { kForward, kBackward };

/// Largest activation of a clipped ReLU, min(max(x, 0), 20): Hannun et al., "Deep Speech", 2014,
/// section 2.
inline constexpr double kClip = 20;

/// The hidden states h [T, N, H] of h_t = min(max(x_t + h_before · recurrentᵀ, 0), 20), where
/// h_before is the state of the frame before in `direction`, zero at the utterance's end that it
/// starts from. `x` [T, N, H] are the products with the input, `recurrent` is [H, H] and `frames`
/// [N, int64, on the CPU] the utterances' lengths: later frames have h = 0 and no part in any
/// gradient. The recurrence runs frame by frame; the gradient to `recurrent` is one product over
/// all frames. Under autocast both run in its type.
at::Tensor clipped_relu_rnn(const at::Tensor& x, const at::Tensor& recurrent,
                            const at::Tensor& frames, Direction direction);

struct ClippedReluRnnGradients {
  at::Tensor x;
  at::Tensor recurrent;
};

/// What autograd runs for `g`, the gradient to the states `h`.
ClippedReluRnnGradients clipped_relu_rnn_backward(const at::Tensor& g, const at::Tensor& h,
                                                  const at::Tensor& recurrent, Direction direction);

}  // namespace fathom::ops
