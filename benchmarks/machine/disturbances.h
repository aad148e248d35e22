#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/machine/cpu_ticks.h"

namespace fathom::benchmarks {

/// Counts disturbed steps: another process preempted a thread of this process, or the hypervisor
/// took a CPU. Checks rarely; a disturbance counts for all steps since the last check.
class Disturbances {
 public:
  /// `root` is the folder of /proc.
  explicit Disturbances(std::filesystem::path root = "/");

  /// Adds `steps` steps that took `seconds` in all.
  void add(int64_t steps, double seconds) {
    steps_ += steps;
    seconds_ += seconds;
    if (seconds_ >= kCheck) check();
  }

  /// No value where the system does not report steal.
  std::optional<int64_t> steps();

 private:
  static constexpr double kCheck = 1e-3;       // costs 0.3 us
  static constexpr double kCheckSteal = 0.25;  // costs up to milliseconds where CPUs are many

  void check();
  void check_steal();

  std::filesystem::path root_;
  std::vector<int> cpus_;
  int64_t steps_ = 0;         ///< since the last check
  double seconds_ = 0;        ///< of steps_
  int64_t interrupted_ = 0;   ///< steps with a preemption since the last check of steal
  int64_t window_steps_ = 0;  ///< all steps since the last check of steal
  double window_seconds_ = 0;
  long switches_;
  std::optional<CpuTicks> ticks_;
  int64_t disturbed_ = 0;
};

/// Seconds that others took from this process. What the system does not report is absent.
struct TakenTime {
  /// The hypervisor ran others on the CPUs that this process may use: steal in /proc/stat, which
  /// counts in ticks of 10 ms.
  std::optional<double> stolen;
  /// Threads of this process were runnable and waited for a CPU: run delay in
  /// /proc/self/task/*/schedstat, summed over the threads.
  std::optional<double> waiting;

  /// The sum of the known ones; absent where none is.
  std::optional<double> all() const;
};

/// A measured time. Interference only lengthens it.
struct Timing {
  double us;                            ///< of a call or a step, as the median or a mean of several
  std::optional<double> taken_us = {};  ///< what others took of each, the mean (TakenTime)

  /// Others took more than 5 % of it, the smallest difference on which a finding rests.
  bool disturbed() const;
  /// The time without interference is not below this. A median is lengthened only where others took
  /// from at least half of the calls, and then by at most twice the mean.
  double least_us() const;
};

/// Measures TakenTime from its construction on.
class TakenTimer {
 public:
  /// `root` is the folder of /proc.
  explicit TakenTimer(std::filesystem::path root = "/");

  TakenTime seconds() const;

 private:
  std::filesystem::path root_;
  std::vector<int> cpus_;
  std::optional<CpuTicks> ticks_;
  std::map<std::string, double> delays_;  ///< nanoseconds by thread
};

}  // namespace fathom::benchmarks
