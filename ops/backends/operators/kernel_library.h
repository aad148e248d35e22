#pragma once

#include <string>

#include "ops/backends/operators/kernel_set.h"

namespace fathom::ops {

// A user's shared library (--fathom_kernels) registers kernels for LibTorch's operators with
// TORCH_LIBRARY_IMPL(aten, CPU, m) or (aten, CUDA, m).

/// The backend of the library's rows: "mine" of libmine.so. Throws std::runtime_error for another
/// file name, for characters other than [A-Za-z0-9_-], and for the name of another backend.
std::string library_name(const std::string& path);

/// The kernels of the library.
class KernelLibrary final : public KernelSet {
 public:
  /// Throws like library_name(). The operators are not known yet.
  explicit KernelLibrary(const std::string& path);

  /// Loads the library in a process of its own to see which operators its kernels are for; here
  /// only install() loads it. Throws std::runtime_error where it does not load or registers no
  /// kernel.
  void find_operators();

  void install(const std::vector<ChosenKernel>* recorded) override;

 private:
  std::string file_;
};

}  // namespace fathom::ops
