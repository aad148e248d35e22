#include "ops/profiler/operator_times.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include "ops/profiler/launch_timeline.h"
#include "ops/profiler/observe.h"
#include "ops/profiler/stopwatch.h"

namespace fathom::ops {
namespace {

/// Measures with a Stopwatch (on the host) or a LaunchTimeline (on the GPU).
template <typename OpClock>
class OperatorTimer final : public Observer {
 public:
  bool start(const Event& event) override {
    constexpr std::string_view kNamespace = "aten::";
    const std::string_view called = event.call.name;
    if (event.what == Event::What::kNode || !called.starts_with(kNamespace)) {
      clock.start(nullptr);
      return false;
    }
    std::string name(called.substr(kNamespace.size()));
    if (!event.call.overload.empty()) name.append(".").append(event.call.overload);
    OperatorTime& time = times_[name];
    ++time.count;
    clock.start(&time.seconds);
    return false;
  }

  void end() override { clock.stop(); }

  std::vector<OperatorTime> longest_first() const {
    std::vector<OperatorTime> all;
    for (const auto& [name, time] : times_)
      all.push_back({.name = name, .count = time.count, .seconds = time.seconds});
    std::ranges::stable_sort(all, std::greater{}, &OperatorTime::seconds);
    return all;
  }

  OpClock clock;

 private:
  std::map<std::string, OperatorTime> times_;  ///< whose elements stay in place
};

}  // namespace

std::vector<OperatorTime> operator_times(const std::function<void()>& work) {
  OperatorTimer<Stopwatch> timer;
  observe(timer, work, /*arguments=*/false);
  return timer.longest_first();
}

std::optional<std::vector<OperatorTime>> gpu_operator_times(const std::function<void()>& work,
                                                            const GpuProfiler& gpu) {
  OperatorTimer<LaunchTimeline> timer;
  const std::vector<GpuEvent> events = gpu([&] { observe(timer, work, /*arguments=*/false); });
  if (events.empty()) return std::nullopt;
  timer.clock.add(events);
  return timer.longest_first();
}

}  // namespace fathom::ops
