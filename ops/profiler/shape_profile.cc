#include "ops/profiler/shape_profile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

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
                       .includes_nested = event.scope >= 0 || !found.ops.empty()});
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

/// Times steps that repeat the events of a trace.
class TraceTimer final : public Observer {
 public:
  explicit TraceTimer(const StepTrace& trace)
      : events_(trace.events()),
        shapes_(trace.shapes()),
        now_{.parts = std::vector<Part>(shapes_.size())} {}

  bool start(const Event& event) override {
    follows_ = follows_ && next_ < events_.size() && events_[next_].name == event.call.name;
    if (!follows_) {
      stopwatch_.start(nullptr);
      return false;
    }
    const StepTrace::TracedEvent& traced = events_[next_++];
    Part* part = traced.shape ? &now_.parts[*traced.shape] : nullptr;
    if (part != nullptr && traced.counts) ++part->count;
    stopwatch_.start(part == nullptr ? nullptr : &part->seconds);
    return traced.includes_nested;
  }

  void end() override { stopwatch_.stop(); }

  void end_step(double seconds) {
    now_.seconds = seconds;
    if (follows_ && next_ == events_.size()) steps_.push_back(now_);
    now_ = {.parts = std::vector<Part>(shapes_.size())};
    next_ = 0;
    follows_ = true;
  }

  ShapeProfile profile() && {
    std::sort(steps_.begin(), steps_.end(),
              [](const Step& a, const Step& b) { return a.seconds < b.seconds; });
    const std::size_t left_out = steps_.size() / 4;
    ShapeProfile all{.steps = 0, .seconds = 0, .shapes = std::move(shapes_)};
    for (std::size_t step = left_out; step < steps_.size() - left_out; ++step) {
      ++all.steps;
      all.seconds += steps_[step].seconds;
      for (std::size_t i = 0; i < all.shapes.size(); ++i) {
        all.shapes[i].count += steps_[step].parts[i].count;
        all.shapes[i].seconds += steps_[step].parts[i].seconds;
      }
    }
    ShapeTime between{
        .type = "framework", .op_class = OpClass::kFramework, .keys = {}, .seconds = all.seconds};
    for (const auto& shape : all.shapes) between.seconds -= shape.seconds;
    all.shapes.push_back(std::move(between));
    return all;
  }

 private:
  struct Part {
    int64_t count = 0;
    double seconds = 0;
  };
  struct Step {
    double seconds = 0;
    std::vector<Part> parts;  ///< by shape
  };

  const std::vector<StepTrace::TracedEvent>& events_;
  std::vector<ShapeTime> shapes_;
  std::vector<Step> steps_;
  Step now_;
  std::size_t next_ = 0;
  bool follows_ = true;
  Stopwatch stopwatch_;
};

}  // namespace

ShapeProfile shape_profile(const std::function<void()>& step, int64_t steps) {
  StepTrace trace;
  observe(trace, step, /*arguments=*/true);
  TraceTimer timer(trace);
  observe(
      timer,
      [&] {
        for (int64_t i = 0; i < steps; ++i) {
          const auto begin = Stopwatch::Clock::now();
          step();
          const std::chrono::duration<double> spent = Stopwatch::Clock::now() - begin;
          timer.end_step(spent.count());
        }
      },
      /*arguments=*/false);
  return std::move(timer).profile();
}

}  // namespace fathom::ops
