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
  /// Brings what run() left in the library's own layout into the caller's buffers.
  virtual void write_outputs() {}
  /// What the library chose to run, in its own words.
  virtual std::string implementation() const = 0;
  /// What it took to prepare, by JSON name (results/README.md).
  virtual std::vector<std::pair<std::string, double>> figures() const = 0;
};

}  // namespace fathom::ops
