#pragma once

#include <string>

namespace fathom::ops {

/// A library call prepared for one shape, over buffers that the caller keeps alive.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run() = 0;
  /// What the library chose to run, in its own words.
  virtual std::string implementation() const = 0;
};

}  // namespace fathom::ops
