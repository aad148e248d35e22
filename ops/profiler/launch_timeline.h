#pragma once

#include <cstdint>
#include <vector>

#include "ops/profiler/gpu_events.h"

namespace fathom::ops {

/// Records when the host was inside which of nested calls, so that each gets the GPU time of what
/// it launched. The counterpart of Stopwatch.
class LaunchTimeline {
 public:
  /// A call begins. The GPU time that it launches is added to `seconds`, or discarded for null.
  void start(double* seconds);

  /// The innermost open call ends.
  void stop();

  /// Adds the time of each event to the innermost call that was open at its launch. Where events
  /// overlap, the later one counts from the end of the earlier one. Returns the seconds in which
  /// the GPU was busy.
  double add(std::vector<GpuEvent> events);

 private:
  struct Call {
    double* seconds;
    int64_t begin;  ///< nanoseconds since the epoch
    int64_t end;
    std::size_t parent;
  };

  const Call* innermost(int64_t moment) const;

  std::vector<Call> calls_;  ///< in the order of their begin
  std::vector<std::size_t> open_;
};

}  // namespace fathom::ops
