#include "ops/profiler/shape_profile.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "ops/profiler/launch_timeline.h"
#include "ops/profiler/match.h"
#include "ops/profiler/observe.h"
#include "ops/profiler/op_times.h"
#include "ops/profiler/stopwatch.h"
#include "ops/types/shapes.h"

namespace fathom::ops {
namespace {

/// The events of a step in order, each with the shape to which its time is added.
class StepTrace final : public Observer {
 public:
  struct TracedEvent {
    std::string name;
    std::optional<std::size_t> shape;  ///< none for a node that only contains ops
    bool counts;
    bool includes_nested;
  };

  bool start(const Event& event) override {
    const Match found = matcher_.match(event);
    events_.push_back({.name = std::string(event.call.name),
                       .shape = shape_of(event, found),
                       .counts = !found.continues,
                       .includes_nested = !found.ops.empty()});
    return events_.back().includes_nested;
  }

  const std::vector<TracedEvent>& events() const { return events_; }
  const std::vector<ShapeTime>& shapes() const { return shapes_; }

 private:
  std::optional<std::size_t> shape_of(const Event& event, const Match& found) {
    ShapeTime shape{};
    if (!found.ops.empty()) {
      for (const auto& op : found.ops) {
        shape.keys.push_back(shape_key(*found.type, op));
      }
      shape.type = found.type->name;
      shape.op_class = found.type->op_class;
    } else if (const OpTimes::Op* op = times_.enter(event); op != nullptr) {
      shape.type = op->time->type;
      shape.op_class = op->time->op_class;
    } else {
      return std::nullopt;
    }
    const auto [index, added] = indices_.try_emplace({shape.type, shape.keys}, shapes_.size());
    if (added) shapes_.push_back(std::move(shape));
    return index->second;
  }

  OpMatcher matcher_;
  OpTimes times_;  ///< for the types of ops that are not matched
  std::map<std::pair<std::string, std::vector<std::string>>, std::size_t> indices_;
  std::vector<ShapeTime> shapes_;
  std::vector<TracedEvent> events_;
};

/// Measures the time of steps that repeat the events of a trace with a Stopwatch (on the host) or a
/// LaunchTimeline (on the GPU).
template <typename OpClock>
class TraceTimer final : public Observer {
 public:
  explicit TraceTimer(const StepTrace& trace) : events_(trace.events()), shapes_(trace.shapes()) {}

  bool start(const Event& event) override {
    Step& step = steps_.back();
    step.follows = step.follows && next_ < events_.size() && events_[next_].name == event.call.name;
    if (!step.follows) {
      clock_.start(&step.between);
      return false;
    }
    const StepTrace::TracedEvent& traced = events_[next_++];
    Part* part = traced.shape ? &step.parts[*traced.shape] : nullptr;
    if (part != nullptr && traced.counts) ++part->count;
    clock_.start(part == nullptr ? &step.between : &part->seconds);
    return traced.includes_nested;
  }

  void end() override { clock_.stop(); }

  void run(const std::function<void()>& step, int64_t steps) {
    observe(
        *this,
        [&] {
          for (int64_t i = 0; i < steps; ++i) {
            Step& timed = steps_.emplace_back(Step{.parts = std::vector<Part>(shapes_.size())});
            next_ = 0;
            clock_.start(&timed.between);
            step();
            clock_.stop();
            timed.follows = timed.follows && next_ == events_.size();
          }
        },
        /*arguments=*/false);
  }

  OpClock& clock() { return clock_; }

  ShapeProfile profile() && {
    std::erase_if(steps_, [](const Step& step) { return !step.follows; });
    std::sort(steps_.begin(), steps_.end(),
              [](const Step& a, const Step& b) { return a.seconds() < b.seconds(); });
    const std::size_t left_out = steps_.size() / 4;
    ShapeProfile all{.steps = 0, .seconds = 0, .shapes = std::move(shapes_)};
    ShapeTime between{.type = "framework", .op_class = OpClass::kFramework, .keys = {}};
    for (std::size_t step = left_out; step < steps_.size() - left_out; ++step) {
      ++all.steps;
      all.seconds += steps_[step].seconds();
      between.seconds += steps_[step].between;
      for (std::size_t i = 0; i < all.shapes.size(); ++i) {
        all.shapes[i].count += steps_[step].parts[i].count;
        all.shapes[i].seconds += steps_[step].parts[i].seconds;
      }
    }
    all.shapes.push_back(std::move(between));
    return all;
  }

 private:
  struct Part {
    int64_t count = 0;
    double seconds = 0;
  };
  struct Step {
    std::vector<Part> parts;  ///< by shape
    double between = 0;       ///< seconds outside the parts
    bool follows = true;      ///< so far it repeats the events of the trace

    double seconds() const {
      return std::accumulate(parts.begin(), parts.end(), between,
                             [](double sum, const Part& part) { return sum + part.seconds; });
    }
  };

  const std::vector<StepTrace::TracedEvent>& events_;
  std::vector<ShapeTime> shapes_;
  std::deque<Step> steps_;  ///< which stay in place, since the clock writes to them
  std::size_t next_ = 0;
  OpClock clock_;
};

StepTrace traced(const std::function<void()>& step) {
  StepTrace trace;
  observe(trace, step, /*arguments=*/true);
  return trace;
}

}  // namespace

ShapeProfile shape_profile(const std::function<void()>& step, int64_t steps) {
  const StepTrace trace = traced(step);
  TraceTimer<Stopwatch> timer(trace);
  timer.run(step, steps);
  return std::move(timer).profile();
}

std::optional<ShapeProfile> gpu_shape_profile(const std::function<void()>& step, int64_t steps,
                                              const GpuProfiler& gpu) {
  const StepTrace trace = traced(step);
  TraceTimer<LaunchTimeline> timer(trace);
  const std::vector<GpuEvent> events = gpu([&] { timer.run(step, steps); });
  if (events.empty()) return std::nullopt;
  timer.clock().add(events);
  return std::move(timer).profile();
}

}  // namespace fathom::ops
