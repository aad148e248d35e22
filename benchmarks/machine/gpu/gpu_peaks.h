#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "benchmarks/machine/peaks.h"

namespace fathom::benchmarks {

/// The best of reading, copying, scaling and adding buffers beyond the L2 cache of GPU 0. Unknown
/// where its memory does not suffice. Throws std::runtime_error for other errors.
Peak measure_cuda_bytes();

/// flops(side) for the first of `sides` with which a GPU's memory suffices; 0 where it does for
/// none. Other exceptions propagate.
double first_that_runs(std::span<const int64_t> sides,
                       const std::function<double(int64_t side)>& flops);

}  // namespace fathom::benchmarks
