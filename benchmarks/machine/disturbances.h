#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "benchmarks/machine/cpu_ticks.h"

namespace fathom::benchmarks {

/// Counts disturbed steps: another process took a CPU from a thread of this process, or the
/// hypervisor did. It looks rarely; a disturbance counts for all steps since the last look.
class Disturbances {
 public:
  explicit Disturbances(std::filesystem::path root = "/");

  /// `steps` more have taken `seconds`.
  void add(int64_t steps, double seconds) {
    steps_ += steps;
    seconds_ += seconds;
    if (seconds_ >= kLook) look();
  }

  /// No value where the system does not report it.
  std::optional<int64_t> steps();

 private:
  static constexpr double kLook = 1e-3;         // costs 0.3 us
  static constexpr double kLookAtSteal = 0.25;  // costs up to milliseconds where CPUs are many

  void look();
  void look_at_steal();

  std::filesystem::path root_;
  std::vector<int> cpus_;
  int64_t steps_ = 0;        ///< since the last look
  double seconds_ = 0;       ///< likewise
  int64_t interrupted_ = 0;  ///< of the steps since the last look at steal
  int64_t window_steps_ = 0;
  double window_seconds_ = 0;
  long switches_;
  std::optional<CpuTicks> ticks_;
  int64_t disturbed_ = 0;
};

}  // namespace fathom::benchmarks
