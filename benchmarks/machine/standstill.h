#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fathom::benchmarks {

/// Steps that follow each other.
struct Stretch {
  int64_t steps = 0;
  double seconds = 0;      ///< by a clock that goes on while the machine sleeps
  double cpu_seconds = 0;  ///< for which the process ran, summed over its threads
};

/// Seconds of `timed` in which the process stood still: none of its threads ran or waited for a
/// CPU. It was stopped (SIGSTOP), frozen (docker pause) or moved with its machine, or it waited for
/// a disk. Of a stretch, only what exceeds the usual time of a step counts, and what its CPU time
/// leaves unexplained at the usual number of busy cores. `usual` are stretches to compare with
/// besides `timed`; others took `taken` seconds of all (TakenTime). Steps that wait, for a GPU or
/// other ranks, differ more: of them a stretch counts if it takes over twice the usual time.
double standstill(std::span<const Stretch> timed, const Stretch& usual, double taken, bool waits);

/// The same of work whose usual time is not known and that does not wait: at least this, because
/// one of its threads always runs.
double least_standstill(const Stretch& work, double taken);

/// Whether so much of `seconds` changes a result: more than 5 %.
bool is_long_standstill(double standstill, double seconds);

/// The time and the CPU time of this process from its construction on.
class ProcessTimer {
 public:
  ProcessTimer();

  Stretch stretch(int64_t steps) const;

 private:
  double begin_;
  double cpu_begin_;
};

/// Divides timed steps into stretches of at least 10 ms.
class Stretches {
 public:
  /// Adds `steps` steps that took `seconds` in all.
  void add(int64_t steps, double seconds) {
    steps_ += steps;
    seconds_ += seconds;
    if (seconds_ >= kShortest) close();
  }

  /// All of them, the last one ended.
  std::span<const Stretch> end();

 private:
  static constexpr double kShortest = 0.01;

  void close();

  std::vector<Stretch> all_;
  ProcessTimer timer_;
  int64_t steps_ = 0;
  double seconds_ = 0;
};

}  // namespace fathom::benchmarks
