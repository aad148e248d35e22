#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::models {

// New tensors on the CPU, which all threads fill: LibTorch draws on one, which takes long for 10⁹
// weights. The seed comes from LibTorch's generator; the numbers do not depend on the number of
// threads.

/// Whether they fill anything. Off where a test only counts what a step runs.
inline bool& fills_weights() {
  static bool fills = true;
  return fills;
}

/// Normal numbers of mean 0.
at::Tensor drawn_normal(at::IntArrayRef sizes, double deviation);
/// Uniform numbers from -bound to bound.
at::Tensor drawn_uniform(at::IntArrayRef sizes, double bound);

}  // namespace fathom::models
