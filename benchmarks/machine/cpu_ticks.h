#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace fathom::benchmarks {

/// How some CPUs have spent their time since the system's start, in the kernel's ticks.
struct CpuTicks {
  double all = 0;
  double busy = 0;    ///< with processes and interrupts
  double stolen = 0;  ///< waiting while the hypervisor ran others
};

/// Of `cpus`, by /proc/stat under `root`; none where it does not tell.
std::optional<CpuTicks> cpu_ticks(const std::filesystem::path& root, const std::vector<int>& cpus);

}  // namespace fathom::benchmarks
