#pragma once

#include <optional>

#include "fixtures/machine/device.h"

namespace fathom::benchmarks {

/// The most memory in use while this is alive. On the CPU the process's largest resident set, which
/// Linux keeps as one high-water mark a process; on a GPU what LibTorch's caching allocator had
/// handed out at most. Either mark is set back at construction.
class PeakMemory {
 public:
  explicit PeakMemory(fixtures::Device device);
  /// No value where the kernel does not let the mark be set back.
  std::optional<double> bytes() const;

 private:
  fixtures::Device device_;
  bool reset_;
};

}  // namespace fathom::benchmarks
