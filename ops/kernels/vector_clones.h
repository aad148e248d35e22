#pragma once

// For functions with loops over arrays. Clang does not support target_clones on templates; other
// processors have one vector width.
#if defined(__x86_64__) && !defined(__clang__)
/// Before a function: GCC compiles it for each vector width and the program chooses one when it
/// starts, like LibTorch's dispatch by CPU capability.
#define FATHOM_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FATHOM_VECTOR_CLONES
#endif
#if defined(__GNUC__) && !defined(__clang__)
/// Before a loop with independent iterations, where GCC has too many pointers to check.
#define FATHOM_INDEPENDENT _Pragma("GCC ivdep")
#else
#define FATHOM_INDEPENDENT
#endif
