#pragma once

namespace fathom::ops {

/// Frees the memory that LibTorch's caching allocator holds but does not use. Part of
/// libfathom_cuda.so, whose other files see no LibTorch.
void release_cached_memory();

}  // namespace fathom::ops
