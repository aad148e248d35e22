#include "ops/profiler/profile.h"

#include <c10/util/ApproximateClock.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>

#include "ops/profiler/observe.h"
#include "ops/profiler/op_times.h"
#include "ops/profiler/stopwatch.h"

namespace fathom::ops {
namespace {

using Clock = std::chrono::steady_clock;

/// Whether ops that run inside this one count as part of it.
bool includes_nested(const Event& event, const OpTimes::Op* op) {
  return event.scope >= 0 || (op != nullptr && op->type != nullptr);
}

/// Measures the time of ops on the host.
class HostTime final : public Observer {
 public:
  bool start(const Event& event) override {
    const OpTimes::Op* op = times_.enter(event);
    stopwatch_.start(op == nullptr ? nullptr : &op->time->seconds);
    return includes_nested(event, op);
  }

  void end() override { stopwatch_.stop(); }

  const OpTimes& times() const { return times_; }

 private:
  OpTimes times_;
  Stopwatch stopwatch_;
};

/// Records when the host was inside which op.
class Timeline final : public Observer {
 public:
  bool start(const Event& event) override {
    const OpTimes::Op* op = times_.enter(event);
    open_.push_back({.op = op, .begin = c10::getTime(), .end = 0});
    return includes_nested(event, op);
  }

  void end() override {
    open_.back().end = c10::getTime();
    spans_.push_back(open_.back());
    open_.pop_back();
  }

  /// Adds the time of each event to the op that launched it. Where events overlap, the later one
  /// counts from the end of the earlier one. Returns the seconds in which the GPU was busy.
  double add(std::vector<GpuEvent> events) {
    std::sort(spans_.begin(), spans_.end(),
              [](const Span& a, const Span& b) { return a.begin < b.begin; });
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
      if (const OpTimes::Op* op = op_at(event.launched); op != nullptr)
        op->time->seconds += seconds;
    }
    return busy;
  }

  const OpTimes& times() const { return times_; }

 private:
  struct Span {
    const OpTimes::Op* op;
    int64_t begin;  ///< nanoseconds since the epoch
    int64_t end;
  };

  /// The innermost op at that moment; null for none.
  const OpTimes::Op* op_at(int64_t moment) const {
    auto span = std::upper_bound(
        spans_.begin(), spans_.end(), moment,
        [](int64_t wanted, const Span& candidate) { return wanted < candidate.begin; });
    while (span != spans_.begin()) {
      --span;
      if (span->end >= moment) return span->op;
    }
    return nullptr;
  }

  OpTimes times_;
  std::vector<Span> open_;
  std::vector<Span> spans_;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Profile profile(const std::function<void()>& work) {
  HostTime host;
  const auto begin = Clock::now();
  observe(host, work, /*arguments=*/false);
  return host.times().profile(seconds_since(begin));
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

Profile gpu_profile(const std::function<void()>& work, const GpuProfiler& gpu) {
  Timeline timeline;
  double seconds = 0;
  const double busy = timeline.add(gpu([&] {
    const auto begin = Clock::now();
    observe(timeline, work, /*arguments=*/false);
    seconds = seconds_since(begin);
  }));
  Profile found = timeline.times().profile(seconds);
  found.gpu_seconds = busy;
  return found;
}

}  // namespace fathom::ops
