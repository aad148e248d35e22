#include "benchmarks/machine/gpu/gpu_peaks.h"

#include <exception>
#include <utility>

#include "ops/kernels/cuda/library.h"

namespace fathom::benchmarks {

Peak measure_cuda_bytes() {
  if (ops::cuda_library() == nullptr) return {};
  const ops::CudaMemorySeconds seconds = ops::cuda_library()->memory_seconds();
  Peak peak;
  for (const auto& [kernel, one] :
       {std::pair(kRead, seconds.read), std::pair(kCopy, seconds.copy),
        std::pair(kScale, seconds.scale), std::pair(kAdd, seconds.add)}) {
    if (one > 0) peak.offer(memory_rate(kernel, seconds.bytes, one), kernel.name);
  }
  return peak;
}

double first_that_runs(std::span<const int64_t> sides,
                       const std::function<double(int64_t side)>& flops) {
  for (const int64_t side : sides) {
    try {
      return flops(side);
    } catch (const std::exception&) {  // LibTorch's out of memory is no std::runtime_error
      continue;
    }
  }
  return 0;
}

}  // namespace fathom::benchmarks
