#pragma once

// Macros for arithmetic in plain C++ that GPU kernels and the CPU share.
#ifdef __CUDACC__
#define FATHOM_HOST_DEVICE __host__ __device__
#else
#define FATHOM_HOST_DEVICE
#endif
#ifdef __CUDA_ARCH__
#define FATHOM_UNROLL _Pragma("unroll")  // keeps arrays in registers
#else
#define FATHOM_UNROLL
#endif
