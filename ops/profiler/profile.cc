#include "ops/profiler/profile.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>

#include "ops/profiler/launch_timeline.h"
#include "ops/profiler/observe.h"
#include "ops/profiler/op_times.h"
#include "ops/profiler/stopwatch.h"

namespace fathom::ops {
namespace {

using Clock = std::chrono::steady_clock;

/// Measures the time of op types with a Stopwatch (on the host) or a LaunchTimeline (on the GPU).
template <typename OpClock>
class TypeTimer final : public Observer {
 public:
  bool start(const Event& event) override {
    const OpTimes::Op* op = times.enter(event);
    clock.start(op == nullptr ? nullptr : &op->time->seconds);
    return op != nullptr && op->type != nullptr;  // what runs inside it is part of it
  }

  void end() override { clock.stop(); }

  OpTimes times;
  OpClock clock;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Profile profile(const std::function<void()>& work) {
  TypeTimer<Stopwatch> host;
  const auto begin = Clock::now();
  observe(host, work, /*arguments=*/false);
  return host.times.profile(seconds_since(begin));
}

Profile sum(const std::vector<Profile>& profiles) {
  Profile all{.ops = {}, .seconds = 0};
  std::map<std::string, OpTime> types;
  for (const auto& profile : profiles) {
    all.seconds += profile.seconds;
    for (const auto& op : profile.ops) {
      OpTime& time = types.try_emplace(op.type, OpTime{op.type, op.op_class}).first->second;
      time.count += op.count;
      time.seconds += op.seconds;
    }
  }
  for (const auto& [type, time] : types) all.ops.push_back(time);
  std::ranges::sort(all.ops, std::greater{}, &OpTime::seconds);
  return all;
}

std::optional<Profile> gpu_profile(const std::function<void()>& work, const GpuProfiler& gpu) {
  TypeTimer<LaunchTimeline> timer;
  double seconds = 0;
  const std::vector<GpuEvent> events = gpu([&] {
    const auto begin = Clock::now();
    observe(timer, work, /*arguments=*/false);
    seconds = seconds_since(begin);
  });
  if (events.empty()) return std::nullopt;
  const double busy = timer.clock.add(events);
  Profile found = timer.times.profile(seconds);
  found.gpu_seconds = busy;
  return found;
}

}  // namespace fathom::ops
