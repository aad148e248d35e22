#pragma once

namespace fathom::ops {

/// Frees the GPU memory that LibTorch's caching allocator keeps but does not use. For
/// ops/backends/cuda, which sees no LibTorch.
void release_cached_memory();

}  // namespace fathom::ops
