#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// The inputs of a causal convolution of each channel by itself, after which comes SiLU, as in a
/// Mamba block.
struct CausalConvolution {
  at::Tensor x;       ///< [N, T, C]
  at::Tensor weight;  ///< [C, K]; K[K - 1] multiplies the position itself
  at::Tensor bias;    ///< [C]
  /// Whether the first K - 1 positions of x only come before the others, as where they are kept
  /// from earlier tokens. Otherwise zeros come before x.
  bool has_history = false;
};

/// y [N, T, C], or [N, T - K + 1, C] with history. In LibTorch: a grouped conv1d that pads both
/// ends, whose last K - 1 positions are cut off.
at::Tensor causal_conv1d(const CausalConvolution& in);

/// The same on the CPU in one pass, with its own gradient. Elsewhere, causal_conv1d().
at::Tensor fused_causal_conv1d(const CausalConvolution& in);

}  // namespace fathom::ops
