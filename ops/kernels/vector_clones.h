#pragma once

// For functions with loops over arrays. Clang does not support target_clones on templates; other
// processors have one vector width.
#if defined(__x86_64__) && !defined(__clang__)
/// Functions are compiled for chosen CPUs, whose instructions may stand in them.
#define FATHOM_TARGETS
#define FATHOM_CPU_SUPPORTS(feature) (__builtin_cpu_supports(feature) != 0)
/// Before a function: GCC compiles it for each vector width and the program chooses one when it
/// starts, like LibTorch's dispatch by CPU capability. Version 3 of x86-64 has AVX2 and fused
/// multiply-adds, version 4 also AVX-512.
#define FATHOM_VECTOR_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
/// The same without AVX-512, for functions with registers of at most 32 bytes.
#define FATHOM_NARROW_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
/// Before a function whose instructions need AVX2. It must run only where has_avx2().
#define FATHOM_AVX2 __attribute__((target("arch=x86-64-v3")))
/// Before a function with registers of 64 bytes: GCC compiles it for AVX-512. It must run only
/// where has_avx512().
#define FATHOM_AVX512 __attribute__((target("arch=x86-64-v4")))
/// The same with AVX-512 VNNI; where has_avx512_vnni().
#define FATHOM_AVX512_VNNI __attribute__((target("arch=x86-64-v4,avx512vnni")))
#else
#define FATHOM_CPU_SUPPORTS(feature) false
#define FATHOM_VECTOR_CLONES
#define FATHOM_NARROW_CLONES
#define FATHOM_AVX2
#define FATHOM_AVX512
#define FATHOM_AVX512_VNNI
#endif
#if defined(__GNUC__) && !defined(__clang__)
/// Before a loop with independent iterations, where GCC has too many pointers to check.
#define FATHOM_INDEPENDENT _Pragma("GCC ivdep")
#else
#define FATHOM_INDEPENDENT
#endif
/// Before a loop over an array of Lanes (lanes.h): GCC keeps the array in registers only if it
/// unrolls the loop early.
#define FATHOM_UNROLLED _Pragma("GCC unroll 8")

/// Whether the CPU has version 3 of x86-64.
inline bool has_avx2() { return FATHOM_CPU_SUPPORTS("x86-64-v3"); }

/// Whether the CPU has version 4 of x86-64.
inline bool has_avx512() { return FATHOM_CPU_SUPPORTS("x86-64-v4"); }

/// Whether it can also add products of integers, u8 times s8, by one instruction.
inline bool has_avx512_vnni() { return has_avx512() && FATHOM_CPU_SUPPORTS("avx512vnni"); }
