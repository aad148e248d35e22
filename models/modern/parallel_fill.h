#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::models {

// These fill a tensor on the CPU on all threads: LibTorch draws on one, which takes long for 10⁹
// weights. The seed comes from LibTorch's generator; the numbers do not depend on the number of
// threads.

/// Whether they fill anything. Off where a test only counts what a step runs.
inline bool& fills_weights() {
  static bool fills = true;
  return fills;
}

/// Normal numbers of mean 0.
void fill_normal(const at::Tensor& tensor, double deviation);
/// Uniform numbers from -bound to bound.
void fill_uniform(const at::Tensor& tensor, double bound);

}  // namespace fathom::models
