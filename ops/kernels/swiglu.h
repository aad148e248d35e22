#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// silu(gate) · up, of the same shape (SwiGLU; Shazeer 2020, section 2). LibTorch's two ops.
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

/// The same in one pass of ours on the CPU, with its own gradient. 16 bits are computed in float.
/// Elsewhere LibTorch's ops.
at::Tensor fused_swiglu(const at::Tensor& gate, const at::Tensor& up);

}  // namespace fathom::ops
