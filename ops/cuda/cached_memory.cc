#include "ops/cuda/cached_memory.h"

#include <c10/cuda/CUDACachingAllocator.h>

namespace fathom::ops {

void release_cached_memory() { c10::cuda::CUDACachingAllocator::emptyCache(); }

}  // namespace fathom::ops
