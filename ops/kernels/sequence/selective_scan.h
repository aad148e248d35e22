#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// The inputs of a selective scan, named as by its authors (Gu and Dao, "Mamba: Linear-Time
/// Sequence Modeling with Selective State Spaces", 2023, section 3.2). T positions of N sequences
/// with C channels, each of which has S states.
struct ScanInputs {
  at::Tensor u;           ///< [N, T, C]
  at::Tensor delta;       ///< [N, T, C]; the step size is softplus(delta + delta_bias)
  at::Tensor a;           ///< [C, S], below 0: the rates at which states decay
  at::Tensor b;           ///< [N, T, S]
  at::Tensor c;           ///< [N, T, S]
  at::Tensor d;           ///< [C]
  at::Tensor z;           ///< [N, T, C], the gate
  at::Tensor delta_bias;  ///< [C]
};

/// What a kernel gives, and what its gradient reads.
struct ScannedStates {
  at::Tensor y;     ///< [N, T, C]
  at::Tensor last;  ///< [N, S, C]
  /// [N, chunks, S, C]: the states before some positions at equal distances, from the first on.
  /// Undefined for a scan that begins with a state.
  at::Tensor kept;
};

struct ScanResult {
  at::Tensor y;      ///< [N, T, C]
  at::Tensor state;  ///< [N, S, C] after the last position; it has no gradient
};

/// h = exp(step · a) · h + step · u · b, position by position, and y = (c · h + d · u) · silu(z). h
/// is `state` [N, S, C] before the first position, 0 where that is undefined. LibTorch has no such
/// op: this composes it of one for each position. States are computed in float at least.
ScanResult selective_scan(const ScanInputs& in, const at::Tensor& state = {});

/// The same in one pass over the inputs: on the CPU with states in the L1 cache, on a GPU, for at
/// most 16 states, in registers. The gradient computes the states again, from those of every 32nd
/// or 16th position. It has none where `state` is defined. Elsewhere, selective_scan().
ScanResult fused_selective_scan(const ScanInputs& in, const at::Tensor& state = {});

}  // namespace fathom::ops
