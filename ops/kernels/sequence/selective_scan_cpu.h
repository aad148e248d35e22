#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/sequence/selective_scan.h"

namespace fathom::ops {

struct ScannedStates {
  at::Tensor y;     ///< [N, T, C]
  at::Tensor last;  ///< [N, S, C]
  /// [N, T / 32 rounded up, S, C]: before the positions 0, 32, 64, ... Undefined for a scan that
  /// begins with a state.
  at::Tensor kept;
};

/// A selective scan of tensors on the CPU. What is given for each position has the type of u;
/// channels and states have the type to compute in.
ScannedStates selective_scan_cpu(const ScanInputs& in, const at::Tensor& state);

/// The gradients of all inputs from `g` [N, T, C], that of y. The scan began with states of 0.
ScanInputs selective_scan_backward_cpu(const ScanInputs& in, const at::Tensor& kept,
                                       const at::Tensor& g);

}  // namespace fathom::ops
