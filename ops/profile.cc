#include "ops/profile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>

#include "ops/watch.h"

namespace fathom::ops {
namespace {

using Clock = std::chrono::steady_clock;

/// Adds up the time of one thread.
class Stopwatch final : public Watcher {
 public:
  bool start(const Event& event) override {
    Frame frame;
    if (!event.seen.name.empty()) {  // a node without a name only holds ops
      frame.op = &known(event.seen.name);
      if (event.what == Event::What::kNode) {  // one call of a scope has several
        frame.more = event.scope == std::exchange(last_owner_, event.scope);
      }
    }
    frame.begin = Clock::now();
    stack_.push_back(frame);
    return frame.op != nullptr && frame.op->kind != nullptr;
  }

  void end() override {
    const auto now = Clock::now();
    const Frame frame = stack_.back();
    stack_.pop_back();
    const auto whole = now - frame.begin;
    if (!stack_.empty()) stack_.back().inner += whole;
    if (frame.op == nullptr) return;
    if (!frame.more) ++frame.op->time->count;
    frame.op->time->seconds += std::chrono::duration<double>(whole - frame.inner).count();
  }

  Profile profile(Clock::duration whole) const {
    Profile all{.ops = {}, .seconds = std::chrono::duration<double>(whole).count()};
    OpTime between{.type = "framework", .op_class = OpClass::kFramework, .seconds = all.seconds};
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
  struct Op {
    const OpKind* kind;  ///< null for an op of LibTorch that none claims
    OpTime* time;
  };
  struct Frame {
    const Op* op = nullptr;
    bool more = false;  ///< of a call that is counted already
    Clock::time_point begin;
    Clock::duration inner{};  ///< of the frames directly inside
  };

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
  std::vector<Frame> stack_;
};

}  // namespace

Profile profile(const std::function<void()>& work) {
  Stopwatch stopwatch;
  const auto begin = Clock::now();
  watch(stopwatch, work, /*arguments=*/false);
  return stopwatch.profile(Clock::now() - begin);
}

}  // namespace fathom::ops
