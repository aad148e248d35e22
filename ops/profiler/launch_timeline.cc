#include "ops/profiler/launch_timeline.h"

#include <c10/util/ApproximateClock.h>

#include <algorithm>
#include <limits>

namespace fathom::ops {
namespace {

constexpr auto kNoCall = std::numeric_limits<std::size_t>::max();

}  // namespace

void LaunchTimeline::start(double* seconds) {
  const std::size_t parent = open_.empty() ? kNoCall : open_.back();
  open_.push_back(calls_.size());
  calls_.push_back({.seconds = seconds, .begin = c10::getTime(), .end = 0, .parent = parent});
}

void LaunchTimeline::stop() {
  calls_[open_.back()].end = c10::getTime();
  open_.pop_back();
}

double LaunchTimeline::add(std::vector<GpuEvent> events) {
  std::sort(events.begin(), events.end(),
            [](const GpuEvent& a, const GpuEvent& b) { return a.begin < b.begin; });
  int64_t busy_until = 0;
  double busy = 0;
  for (const auto& event : events) {
    const int64_t begin = std::max(event.begin, busy_until);
    if (event.end <= begin) continue;
    busy_until = event.end;
    const double seconds = static_cast<double>(event.end - begin) * 1e-9;
    busy += seconds;
    const Call* call = innermost(event.launched);
    if (call != nullptr && call->seconds != nullptr) *call->seconds += seconds;
  }
  return busy;
}

/// The call that was open at that moment; null for none.
const LaunchTimeline::Call* LaunchTimeline::innermost(int64_t moment) const {
  const auto after = std::upper_bound(
      calls_.begin(), calls_.end(), moment,
      [](int64_t wanted, const Call& candidate) { return wanted < candidate.begin; });
  if (after == calls_.begin()) return nullptr;
  const Call* call = &*std::prev(after);
  while (call->end < moment) {
    if (call->parent == kNoCall) return nullptr;
    call = &calls_[call->parent];
  }
  return call;
}

}  // namespace fathom::ops
