#include "ops/profile.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace fathom::ops {
namespace {

constexpr std::string_view kAten = "aten::";
constexpr std::string_view kScope = "op:";

using Clock = std::chrono::steady_clock;

/// Adds up what RecordFunction reports of one thread.
class Watcher {
 public:
  void start(const at::RecordFunction& function) {
    if (!wanted(function)) return;
    if (inside_ > 0) {  // an op of a kind: what is in there is part of it
      ++inside_;
      return;
    }
    Frame frame;
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
      const Scope* scope = owner(function.seqNr());
      frame.op = scope == nullptr ? nullptr : scope->op;
      if (scope != nullptr) {
        frame.more = scope == std::exchange(last_owner_, scope);  // one call has several nodes
      }
    } else {
      frame.op = &known(function.name());
      frame.sequence = sequence();
    }
    frame.begin = Clock::now();
    stack_.push_back(frame);
    if (frame.op != nullptr && frame.op->kind != nullptr) inside_ = 1;
  }

  void end(const at::RecordFunction& function) {
    if (!wanted(function) || (inside_ > 0 && --inside_ > 0)) return;
    const Frame frame = stack_.back();
    stack_.pop_back();
    const auto whole = Clock::now() - frame.begin;
    if (!stack_.empty()) stack_.back().inner += whole;
    if (frame.op == nullptr) return;  // a node that only holds ops
    if (!frame.more) ++frame.op->time->count;
    frame.op->time->seconds += std::chrono::duration<double>(whole - frame.inner).count();
    if (function.scope() == at::RecordScope::USER_SCOPE) {
      scopes_[frame.sequence] = {.end = sequence(), .op = frame.op};
    }
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
    int64_t sequence = 0;
    Clock::time_point begin;
    Clock::duration inner{};  ///< of the frames directly inside
  };

  struct Scope {
    int64_t end;  ///< the first of autograd's numbers after it
    const Op* op;
  };

  /// Autograd's own events around its nodes have other names.
  static bool wanted(const at::RecordFunction& function) {
    switch (function.scope()) {
      case at::RecordScope::FUNCTION:
        return std::string_view(function.name()).starts_with(kAten);
      case at::RecordScope::USER_SCOPE:
        return std::string_view(function.name()).starts_with(kScope);
      default:
        return true;
    }
  }

  /// The number that autograd gives to its next node.
  static int64_t sequence() { return static_cast<int64_t>(at::sequence_number::peek()); }

  const Op& known(const char* name) {
    const auto found = ops_.find(name);  // it may end with its event: the map keeps a copy
    if (found != ops_.end()) return found->second;
    const OpKind* kind = kind_of(name);
    const std::string type(kind != nullptr ? kind->name
                                           : std::string_view(name).substr(kAten.size()));
    auto& time = times_[type];
    if (time.type.empty()) {
      time.type = type;
      time.op_class = kind != nullptr ? kind->op_class : OpClass::kFramework;
    }
    return ops_.emplace(name, Op{kind, &time}).first->second;
  }

  /// The scope whose gradient a node of the backward pass makes; null for none.
  const Scope* owner(int64_t node) const {
    const auto after = scopes_.upper_bound(node);
    if (after == scopes_.begin()) return nullptr;
    const Scope& scope = std::prev(after)->second;
    return node < scope.end ? &scope : nullptr;
  }

  std::unordered_map<std::string, Op> ops_;
  std::map<std::string, OpTime> times_;
  std::map<int64_t, Scope> scopes_;  ///< by the first of autograd's numbers in them
  const Scope* last_owner_ = nullptr;
  std::vector<Frame> stack_;
  int64_t inside_ = 0;  ///< open events of an op of a kind, itself included
};

/// RecordFunction takes plain function pointers, so what they write to cannot travel with them.
thread_local Watcher* watcher = nullptr;

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  watcher->start(function);
  return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* /*none*/) {
  watcher->end(function);
}

}  // namespace

Profile profile(const std::function<void()>& work) {
  Watcher here;
  struct Watch {
    at::CallbackHandle handle;
    explicit Watch(Watcher& target) {
      watcher = &target;
      handle = at::addThreadLocalCallback(
          at::RecordFunctionCallback(on_start, on_end)
              .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                       at::RecordScope::USER_SCOPE}));
    }
    ~Watch() {
      at::removeCallback(handle);
      watcher = nullptr;
    }
  } const watch(here);
  const auto begin = Clock::now();
  work();
  return here.profile(Clock::now() - begin);
}

}  // namespace fathom::ops
