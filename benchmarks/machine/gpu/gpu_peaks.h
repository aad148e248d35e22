#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "benchmarks/machine/peaks.h"

namespace fathom::benchmarks {

/// The best of reading, copying, scaling and adding buffers beyond the L2 cache of GPU 0.
Peak measure_cuda_bytes();

/// flops(side) for the first of `sides` with which it does not throw, as it does where memory is
/// lacking; 0 where it throws for all.
double first_that_runs(std::span<const int64_t> sides,
                       const std::function<double(int64_t side)>& flops);

}  // namespace fathom::benchmarks
