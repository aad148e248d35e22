#pragma once

#include <optional>

#include "fixtures/machine/device.h"

namespace fathom::benchmarks {

/// The most memory in use since construction, which resets the mark. CPU: the process's largest
/// resident set, which Linux keeps once a process. GPU: the maximum that LibTorch's caching
/// allocator had handed out.
class PeakMemory {
 public:
  explicit PeakMemory(fixtures::Device device);
  /// No value where the kernel does not allow to reset the mark.
  std::optional<double> bytes() const;

 private:
  fixtures::Device device_;
  bool reset_;
};

}  // namespace fathom::benchmarks
