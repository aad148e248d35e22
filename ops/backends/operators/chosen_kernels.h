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
  std::map<std::string, double> us = {};  ///< the fastest call on each kernel, by backend
  int64_t calls = 0;                      ///< in the chosen round

  /// What a call saves against LibTorch's kernel; 0 where that is not known.
  double saved_us() const {
    const auto torch = us.find("torch");
    const auto chosen = us.find(kernel);
    return torch == us.end() || chosen == us.end() ? 0 : torch->second - chosen->second;
  }
};

/// A round of calls, in which kernels took turns.
struct Round {
  int number = 0;
  bool undecided = false;  ///< whether some kernels were not yet timed often enough to choose
};

}  // namespace fathom::ops
