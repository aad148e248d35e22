#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "fixtures/machine/device.h"

namespace fathom::benchmarks {

/// The energy that a device used since construction. CPU: all packages (RAPL), other processes
/// included. GPU: the board (NVML).
class Energy {
 public:
  /// `root` is the folder of /sys.
  explicit Energy(fixtures::Device device, const std::filesystem::path& root = "/");

  /// No value where the machine does not report it, or not to this user.
  std::optional<double> joules() const;

 private:
  fixtures::Device device_;
  std::map<std::filesystem::path, double> packages_;  ///< microjoules at construction, by folder
  std::optional<double> gpu_;                         ///< joules at construction
};

}  // namespace fathom::benchmarks
