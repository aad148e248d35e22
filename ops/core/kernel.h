#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fathom::ops {

/// A library call prepared for one problem, over buffers that the caller keeps alive.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run() = 0;
  /// Copies results that run() wrote in the library's own layout into the caller's buffers.
  virtual void write_outputs() {}
  /// The implementation that the library chose, by the library's own name.
  virtual std::string implementation() const = 0;
  /// The cost of preparing the kernel, by name of the JSON field.
  virtual std::vector<std::pair<std::string, double>> counters() const = 0;
};

}  // namespace fathom::ops
