#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace fathom::benchmarks {

/// The time of some CPUs since the system's start, in the kernel's ticks (sysconf(_SC_CLK_TCK) a
/// second).
struct CpuTicks {
  double all = 0;
  double busy = 0;    ///< spent on processes and interrupts
  double stolen = 0;  ///< the hypervisor ran other virtual machines
};

/// The sum over `cpus` in /proc/stat under `root`; no value where that reports none of them.
std::optional<CpuTicks> cpu_ticks(const std::filesystem::path& root, const std::vector<int>& cpus);

}  // namespace fathom::benchmarks
