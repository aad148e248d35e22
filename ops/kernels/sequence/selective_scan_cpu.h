#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/sequence/selective_scan.h"

namespace fathom::ops {

/// A selective scan of tensors on the CPU: rows of channels [N, T, C] in the type of u; `a` [S, C]
/// and all else contiguous in the type to compute in.
ScannedStates selective_scan_cpu(const ScanInputs& in, const at::Tensor& state);

/// The gradients of all inputs from `g` [N, T, C], that of y. The scan began with states of 0.
ScanInputs selective_scan_backward_cpu(const ScanInputs& in, const at::Tensor& kept,
                                       const at::Tensor& g);

}  // namespace fathom::ops
