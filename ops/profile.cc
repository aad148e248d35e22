#include "ops/profile.h"

#include <c10/util/ApproximateClock.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>

#include "ops/watch.h"

namespace fathom::ops {
namespace {

using Clock = std::chrono::steady_clock;

/// Op types by the names of events.
class Ledger {
 public:
  struct Op {
    const OpKind* kind;  ///< null for an op of LibTorch that none claims
    OpTime* time;
  };

  /// The op that begins, now counted; null for a node that only holds ops.
  const Op* enter(const Event& event) {
    if (event.seen.name.empty()) return nullptr;
    const Op& op = known(event.seen.name);
    // The gradient of a scope is one call with several nodes.
    const bool more =
        event.what == Event::What::kNode && event.scope == std::exchange(last_owner_, event.scope);
    if (!more) ++op.time->count;
    return &op;
  }

  Profile profile(double seconds) const {
    Profile all{.ops = {}, .seconds = seconds};
    OpTime between{.type = "framework", .op_class = OpClass::kFramework, .seconds = seconds};
    for (const auto& [type, time] : times_) {
      all.ops.push_back(time);
      between.seconds -= time.seconds;
    }
    all.ops.push_back(between);
    std::sort(all.ops.begin(), all.ops.end(),
              [](const OpTime& a, const OpTime& b) { return a.seconds > b.seconds; });
    return all;
  }

 private:
  const Op& known(std::string_view name) {
    const auto found = ops_.find(name);  // it may end with its event: the map keeps a copy
    if (found != ops_.end()) return found->second;
    const OpKind* kind = kind_of(name);
    const std::string type(kind != nullptr ? kind->name : name.substr(name.rfind(':') + 1));
    auto& time = times_[type];
    if (time.type.empty()) {
      time.type = type;
      time.op_class = kind != nullptr ? kind->op_class : OpClass::kFramework;
    }
    return ops_.emplace(name, Op{kind, &time}).first->second;
  }

  std::map<std::string, Op, std::less<>> ops_;
  std::map<std::string, OpTime> times_;
  int64_t last_owner_ = -1;  ///< the scope of the last node that has one
};

bool holds_all_inside(const Ledger::Op* op) { return op != nullptr && op->kind != nullptr; }

/// Adds up the time of ops on the host.
class Stopwatch final : public Watcher {
 public:
  bool start(const Event& event) override {
    const Ledger::Op* op = ledger_.enter(event);
    stack_.push_back({.op = op, .begin = Clock::now()});
    return holds_all_inside(op);
  }

  void end() override {
    const auto now = Clock::now();
    const Frame frame = stack_.back();
    stack_.pop_back();
    const auto whole = now - frame.begin;
    if (!stack_.empty()) stack_.back().inner += whole;
    if (frame.op == nullptr) return;
    frame.op->time->seconds += std::chrono::duration<double>(whole - frame.inner).count();
  }

  const Ledger& ledger() const { return ledger_; }

 private:
  struct Frame {
    const Ledger::Op* op;
    Clock::time_point begin;
    Clock::duration inner{};  ///< of the frames directly inside
  };

  Ledger ledger_;
  std::vector<Frame> stack_;
};

/// Keeps when the host was inside which op.
class Timeline final : public Watcher {
 public:
  bool start(const Event& event) override {
    const Ledger::Op* op = ledger_.enter(event);
    open_.push_back({.op = op, .begin = c10::getTime(), .end = 0});
    return holds_all_inside(op);
  }

  void end() override {
    open_.back().end = c10::getTime();
    spans_.push_back(open_.back());
    open_.pop_back();
  }

  /// Gives each event's time to the op that asked for it. Where events overlap, the later ones
  /// count from the end of the earlier.
  void add(std::vector<GpuEvent> events) {
    std::sort(spans_.begin(), spans_.end(),
              [](const Span& a, const Span& b) { return a.begin < b.begin; });
    std::sort(events.begin(), events.end(),
              [](const GpuEvent& a, const GpuEvent& b) { return a.begin < b.begin; });
    int64_t busy_until = 0;
    for (const auto& event : events) {
      const int64_t begin = std::max(event.begin, busy_until);
      if (event.end <= begin) continue;
      busy_until = event.end;
      if (const Ledger::Op* op = op_at(event.asked); op != nullptr) {
        op->time->seconds += static_cast<double>(event.end - begin) * 1e-9;
      }
    }
  }

  const Ledger& ledger() const { return ledger_; }

 private:
  struct Span {
    const Ledger::Op* op;
    int64_t begin;  ///< nanoseconds since the epoch
    int64_t end;
  };

  /// The innermost op at that moment; null for none.
  const Ledger::Op* op_at(int64_t moment) const {
    auto span = std::upper_bound(
        spans_.begin(), spans_.end(), moment,
        [](int64_t wanted, const Span& candidate) { return wanted < candidate.begin; });
    while (span != spans_.begin()) {
      --span;
      if (span->end >= moment) return span->op;
    }
    return nullptr;
  }

  Ledger ledger_;
  std::vector<Span> open_;
  std::vector<Span> spans_;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Profile profile(const std::function<void()>& work) {
  Stopwatch stopwatch;
  const auto begin = Clock::now();
  watch(stopwatch, work, /*arguments=*/false);
  return stopwatch.ledger().profile(seconds_since(begin));
}

Profile gpu_profile(const std::function<void()>& work, const GpuWatch& gpu) {
  Timeline timeline;
  double seconds = 0;
  timeline.add(gpu([&] {
    const auto begin = Clock::now();
    watch(timeline, work, /*arguments=*/false);
    seconds = seconds_since(begin);
  }));
  return timeline.ledger().profile(seconds);
}

}  // namespace fathom::ops
