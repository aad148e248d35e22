#include "ops/profiler/watch.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <map>

namespace fathom::ops {
namespace {

/// Makes events of what RecordFunction reports of one thread.
class Events {
 public:
  explicit Events(Watcher& watcher) : watcher_(watcher) {}

  void start(const at::RecordFunction& function) {
    if (looking_ || !wanted(function)) return;
    if (inside_ > 0) {
      ++inside_;
      return;
    }
    const Event event = event_of(function);
    looking_ = true;
    const bool suppress = watcher_.start(event);
    looking_ = false;
    if (suppress) inside_ = 1;
  }

  void end(const at::RecordFunction& function) {
    if (looking_ || !wanted(function)) return;
    if (inside_ > 0) --inside_;
    if (inside_ > 0) return;
    if (function.scope() == at::RecordScope::USER_SCOPE) {
      open_.back()->end = next_node();
      open_.pop_back();
    }
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) backward_ = false;
    watcher_.end();
  }

 private:
  struct Scope {
    std::string name;
    int64_t number;
    int64_t end;  ///< autograd's first node after it
  };

  /// Autograd's own events around its nodes have other names.
  static bool wanted(const at::RecordFunction& function) {
    const std::string_view name = function.name();
    switch (function.scope()) {
      case at::RecordScope::FUNCTION:
        return name.starts_with("aten::");
      case at::RecordScope::USER_SCOPE:
        return name.starts_with("op:");
      default:
        return true;
    }
  }

  static int64_t next_node() { return static_cast<int64_t>(at::sequence_number::peek()); }

  Event event_of(const at::RecordFunction& function) {
    Event event{.what = Event::What::kOp,
                .call = {function.name(), function.inputs(), backward_},
                .node = next_node()};
    if (function.scope() == at::RecordScope::USER_SCOPE) {
      open_.push_back(&scopes_[event.node]);  // one that made no node is forgotten
      *open_.back() = {.name = function.name(), .number = scopes_begun_++, .end = event.node};
      event.what = Event::What::kScope;
      event.scope = open_.back()->number;
    } else if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
      backward_ = true;
      event = {.what = Event::What::kNode, .call = {{}, {}, true}, .node = function.seqNr()};
      if (const Scope* owner = owner_of(event.node); owner != nullptr) {
        event.call.name = owner->name;
        event.scope = owner->number;
      }
    }
    return event;
  }

  /// The scope in which the forward pass made a node; null for none.
  const Scope* owner_of(int64_t node) const {
    const auto after = scopes_.upper_bound(node);
    if (after == scopes_.begin()) return nullptr;
    const Scope& scope = std::prev(after)->second;
    return node < scope.end ? &scope : nullptr;
  }

  Watcher& watcher_;
  std::map<int64_t, Scope> scopes_;  ///< by autograd's first node in them
  std::vector<Scope*> open_;         ///< the innermost last
  int64_t scopes_begun_ = 0;
  bool backward_ = false;  ///< inside a node of the backward pass
  bool looking_ = false;   ///< the watcher runs, whose own ops are none of the work
  int64_t inside_ = 0;     ///< open events of which nothing inside is told, the first included
};

/// RecordFunction takes plain function pointers, so what they write to cannot travel with them.
/// Autograd's thread for a GPU inherits the callbacks of the thread that waits for it.
Events* events = nullptr;

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  events->start(function);
  return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* /*none*/) {
  events->end(function);
}

}  // namespace

void watch(Watcher& watcher, const std::function<void()>& work, bool arguments) {
  Events here(watcher);
  events = &here;
  struct Callbacks {
    at::CallbackHandle handle;
    ~Callbacks() {
      at::removeCallback(handle);
      events = nullptr;
    }
  } const callbacks{at::addThreadLocalCallback(
      at::RecordFunctionCallback(on_start, on_end)
          .needsInputs(arguments)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                   at::RecordScope::USER_SCOPE}))};
  work();
}

}  // namespace fathom::ops
