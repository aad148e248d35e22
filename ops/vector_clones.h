#pragma once

/// Before a function with loops: GCC compiles it once a vector width and chooses when the program
/// starts, as LibTorch does with its own. Clang has no such templates, other processors one width.
#if defined(__x86_64__) && !defined(__clang__)
#define FATHOM_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FATHOM_VECTOR_CLONES
#endif
