#include "benchmarks/machine/gpu/gpu_peaks.h"

#include <c10/util/Exception.h>

#include <utility>

#include "ops/core/kernel.h"
#include "ops/cuda/library.h"

namespace fathom::benchmarks {

Peak measure_cuda_bytes() {
  if (ops::cuda_library() == nullptr) return {};
  Peak peak;
  try {
    const ops::CudaMemorySeconds seconds = ops::cuda_library()->memory_seconds();
    for (const auto& [kernel, one] :
         {std::pair(kRead, seconds.read), std::pair(kCopy, seconds.copy),
          std::pair(kScale, seconds.scale), std::pair(kAdd, seconds.add)}) {
      peak.offer(kernel, seconds.bytes, one);
    }
  } catch (const ops::OutOfMemory&) {
    return {};
  }
  return peak;
}

double first_that_runs(std::span<const int64_t> sides,
                       const std::function<double(int64_t side)>& flops) {
  for (const int64_t side : sides) {
    try {
      return flops(side);
    } catch (const c10::OutOfMemoryError&) {
      continue;  // the next side needs less
    } catch (const ops::OutOfMemory&) {
      continue;
    }
  }
  return 0;
}

}  // namespace fathom::benchmarks
