#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "benchmarks/machine/gpu/nvml.h"
#include "fixtures/machine/device.h"

namespace fathom::benchmarks {

/// The energy that a device used since construction. CPU: all packages (RAPL), other processes
/// included. GPU: the board (NVML).
class Energy {
 public:
  /// `root` is the folder of /sys; `gpu` may be null.
  explicit Energy(fixtures::Device device, const std::filesystem::path& root = "/",
                  const Nvml* gpu = Nvml::get());

  /// No value where the machine does not report it, or not to this user, or where its counter has
  /// not moved yet: a GPU's moves some ten times a second.
  std::optional<double> joules() const;

 private:
  std::optional<double> gpu_joules() const;

  fixtures::Device device_;
  const Nvml* gpu_;
  std::map<std::filesystem::path, double> packages_;  ///< microjoules at construction, by folder
  std::optional<double> gpu_before_;                  ///< joules at construction
};

}  // namespace fathom::benchmarks
