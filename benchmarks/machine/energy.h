#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "fixtures/machine/device.h"

namespace fathom::benchmarks {

/// Joules that the device has taken since this was made: of a CPU its packages by RAPL, what others
/// run there included; of a GPU the board by NVML.
class Energy {
 public:
  /// `root` is where /sys is.
  explicit Energy(fixtures::Device device, const std::filesystem::path& root = "/");

  /// None where the machine does not tell, or not to this user.
  std::optional<double> joules() const;

 private:
  fixtures::Device device_;
  std::map<std::filesystem::path, double> packages_;  ///< what their counters were
  std::optional<double> gpu_;
};

}  // namespace fathom::benchmarks
