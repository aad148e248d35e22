#pragma once

// Arithmetic that a GPU's kernels and the CPU share is plain C++ behind these.
#ifdef __CUDACC__
#define FATHOM_HOST_DEVICE __host__ __device__
#else
#define FATHOM_HOST_DEVICE
#endif
#ifdef __CUDA_ARCH__
#define FATHOM_UNROLL _Pragma("unroll")  // arrays that a loop indexes stay in registers
#else
#define FATHOM_UNROLL
#endif
