#pragma once

#include <cuda_runtime.h>

#include "ops/core/problem.h"

namespace fathom::ops::cuda {

/// Copies the elements of `from` into `to`, which has the same four sizes and element type but may
/// have another layout. Enqueues on the stream. Throws std::runtime_error where the launch fails.
void copy_strided(const Buffer& to, const Buffer& from, cudaStream_t stream);

}  // namespace fathom::ops::cuda
