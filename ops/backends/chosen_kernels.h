#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fathom::ops {

/// The kernel that calls of one operator with the same kind of arguments run.
struct ChosenKernel {
  std::string op;                         ///< without "aten::", as "convolution"
  std::string call;                       ///< the arguments, as text_of() writes them
  std::string kernel;                     ///< "torch" or the backend of another one
  std::map<std::string, double> us = {};  ///< a call on each kernel that can run it, by backend
  int64_t calls = 0;                      ///< until the choice ended

  /// What a call saves against LibTorch's kernel; 0 where that is not known.
  double saved_us() const {
    const auto torch = us.find("torch");
    const auto chosen = us.find(kernel);
    return torch == us.end() || chosen == us.end() ? 0 : torch->second - chosen->second;
  }
};

/// A choice for all calls.
struct ChosenKernels {
  std::vector<ChosenKernel> kernels;
  double seconds = 0;  ///< for which kernels ran only to be timed
};

}  // namespace fathom::ops
