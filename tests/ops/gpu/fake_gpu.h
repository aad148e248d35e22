#pragma once

#include <c10/util/ApproximateClock.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "ops/profiler/gpu_events.h"

namespace fathom::ops {

/// A GPU that is busy for a given time after each launch.
class FakeGpu {
 public:
  void launch(int64_t nanoseconds) {
    const int64_t now = c10::getTime();
    const int64_t begin = std::max(free_at_, now);
    free_at_ = begin + nanoseconds;
    events_.push_back({.launched = now, .begin = begin, .end = free_at_});
  }
  void overlap_the_last() { events_.push_back(events_.back()); }

  GpuProfiler profiler() {
    return [this](const std::function<void()>& work) {
      work();
      return events_;
    };
  }

 private:
  int64_t free_at_ = 0;
  std::vector<GpuEvent> events_;
};

}  // namespace fathom::ops
