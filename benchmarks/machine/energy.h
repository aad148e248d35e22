#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "fixtures/machine/device.h"

namespace fathom::benchmarks {

/// The energy that a device used since construction. CPU: its packages by RAPL, with what other
/// processes used. GPU: the board by NVML.
class Energy {
 public:
  /// `root` is where /sys is.
  explicit Energy(fixtures::Device device, const std::filesystem::path& root = "/");

  /// In joules; no value where the machine does not report it, or not to this user.
  std::optional<double> joules() const;

 private:
  fixtures::Device device_;
  std::map<std::filesystem::path, double> packages_;  ///< what their counters were
  std::optional<double> gpu_;
};

}  // namespace fathom::benchmarks
