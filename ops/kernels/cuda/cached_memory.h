#pragma once

namespace fathom::ops {

/// Frees the GPU memory that LibTorch's caching allocator keeps but does not use.
void release_cached_memory();

}  // namespace fathom::ops
