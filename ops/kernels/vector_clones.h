#pragma once

// For functions with loops over arrays. Clang has no such templates, other processors one width.
#if defined(__x86_64__) && !defined(__clang__)
/// Before a function: GCC compiles it once a vector width and chooses when the program starts, as
/// LibTorch does with its own.
#define FATHOM_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FATHOM_VECTOR_CLONES
#endif
#if defined(__GNUC__) && !defined(__clang__)
/// Before a loop whose rounds touch nothing of each other: too many pointers for GCC to compare.
#define FATHOM_INDEPENDENT _Pragma("GCC ivdep")
#else
#define FATHOM_INDEPENDENT
#endif
