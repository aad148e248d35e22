#pragma once

#include <string>

#include "ops/backends/operators/kernel_set.h"

namespace fathom::ops {

// A user's shared library (--fathom_kernels) registers kernels for LibTorch's operators with
// TORCH_LIBRARY_IMPL(aten, CPU, m) or (aten, CUDA, m).

/// The backend of the library's rows: "mine" of libmine.so. Throws std::runtime_error for another
/// file name, for characters other than [A-Za-z0-9_-], and for the name of another backend.
std::string library_name(const std::string& path);

/// The kernels of the library. Loads it in a process of its own to see which operators they are
/// for; here only KernelSet::install() loads it. Throws std::runtime_error where it does not load
/// or registers no kernel.
KernelSet kernel_library(const std::string& path);

}  // namespace fathom::ops
