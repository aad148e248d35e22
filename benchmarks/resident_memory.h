#pragma once

#include <optional>

namespace fathom::benchmarks {

/// The process's largest resident set while it is alive. Linux keeps one high-water mark a process,
/// set back at construction; no value where the kernel does not allow that.
class ResidentPeak {
 public:
  ResidentPeak();
  std::optional<double> bytes() const;

 private:
  bool reset_;
};

}  // namespace fathom::benchmarks
