#include "ops/profiler/observe.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <c10/util/ScopeExit.h>
#include <torch/csrc/autograd/graph_task.h>

#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "ops/backends/operators/quantized_layers.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// Makes events from what RecordFunction reports of one thread.
class Events {
 public:
  explicit Events(Observer& observer) : observer_(observer) {}

  void start(const at::RecordFunction& function) {
    if (!wanted(function)) return;
    skipped_.push_back(is_quantized(function));
    if (skipped_.back()) return;
    if (suppressed_ > 0) {
      ++suppressed_;
      observer_.nested(call_of(function));
      return;
    }
    const Event event = event_of(function);
    if (observer_.start(event) || event.scope >= 0) suppressed_ = 1;
  }

  void end(const at::RecordFunction& function) {
    if (!wanted(function)) return;
    const bool skipped = skipped_.back();
    skipped_.pop_back();
    if (skipped) return;
    if (suppressed_ > 0) --suppressed_;
    if (suppressed_ > 0) return;
    if (is_scope(function)) open_->end = next_node();
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) backward_ = false;
    observer_.end();
  }

 private:
  using Node =
      std::pair<uint64_t, int64_t>;  ///< the thread that created it, autograd's number there

  struct Scope {
    std::string name;
    int64_t number;
    int64_t end;  ///< autograd's next node when it ended
  };

  /// Autograd's own events around its nodes have other names and are ignored.
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

  /// Whether it is a layer's op in whose place quantised ops run, each in a scope.
  bool is_quantized(const at::RecordFunction& function) const {
    if (!QuantizedLayers::any() || function.scope() != at::RecordScope::FUNCTION) return false;
    const ObservedCall call = call_of(function);
    return quantized_layer(operator_name(call), call.arguments) != nullptr;
  }

  static bool is_scope(const at::RecordFunction& function) {
    return function.scope() == at::RecordScope::USER_SCOPE ||
           (function.scope() == at::RecordScope::FUNCTION &&
            has_composed_gradient(function.name()));
  }

  static int64_t next_node() { return static_cast<int64_t>(at::sequence_number::peek()); }

  ObservedCall call_of(const at::RecordFunction& function) const {
    auto arguments = function.inputs();
    // TorchScript's interpreter passes its whole stack, at whose end the arguments are.
    const bool is_op = function.scope() == at::RecordScope::FUNCTION;
    if (is_op && arguments.size() > function.num_inputs())
      arguments = arguments.slice(arguments.size() - function.num_inputs());
    return {function.name(), arguments, backward_, function.overload_name()};
  }

  Event event_of(const at::RecordFunction& function) {
    Event event{.what = Event::What::kOp, .call = call_of(function), .node = next_node()};
    if (is_scope(function)) {
      // Replaces a scope that created no node.
      open_ = &scopes_[{at::RecordFunction::currentThreadId(), event.node}];
      *open_ = {.name = function.name(), .number = scopes_begun_++, .end = event.node};
      event.what = Event::What::kScope;
      event.scope = open_->number;
    } else if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
      backward_ = true;
      event = {.what = Event::What::kNode, .call = {{}, {}, true}, .node = function.seqNr()};
      const Scope* owner = owner_of({function.forwardThreadId(), event.node});
      if (owner != nullptr) {
        event.call.name = owner->name;
        event.scope = owner->number;
      }
    }
    return event;
  }

  /// The scope in which the forward pass created a node; null for none.
  const Scope* owner_of(const Node& node) const {
    const auto after = scopes_.upper_bound(node);
    if (after == scopes_.begin()) return nullptr;
    const auto& [first, scope] = *std::prev(after);
    return first.first == node.first && node.second < scope.end ? &scope : nullptr;
  }

  Observer& observer_;
  std::map<Node, Scope> scopes_;  ///< by the next node when they began
  Scope* open_ = nullptr;         ///< the last that began; none begins inside another
  int64_t scopes_begun_ = 0;
  bool backward_ = false;      ///< inside a node of the backward pass
  std::vector<bool> skipped_;  ///< of the open events, those that are not reported
  int64_t suppressed_ = 0;  ///< open events that are nested in a suppressing one, which counts, too
};

/// One for each call of observe() that is running, the outermost first. Global, because
/// RecordFunction takes plain function pointers.
std::vector<Events*> all;
std::thread::id observed;
bool reporting = false;  ///< inside an observer: its own ops are not reported

/// Other threads inherit the callbacks of the observed one: autograd's for a GPU, for which it
/// waits, but also c10d's, which work beside it.
bool is_observed() {
  return std::this_thread::get_id() == observed ||
         torch::autograd::get_current_graph_task_id() != -1;
}

/// Calls `report` for each of the observers.
template <typename Report>
void report_to_all(const Report& report) {
  if (!is_observed() || reporting) return;
  reporting = true;
  const auto reset = c10::make_scope_exit([] { reporting = false; });
  for (Events* const events : all) report(*events);
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  report_to_all([&](Events& events) { events.start(function); });
  return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* /*none*/) {
  report_to_all([&](Events& events) { events.end(function); });
}

}  // namespace

void observe(Observer& observer, const std::function<void()>& work, bool arguments) {
  Events here(observer);
  all.push_back(&here);
  const auto pop = c10::make_scope_exit([] { all.pop_back(); });
  if (all.size() > 1) return work();
  observed = std::this_thread::get_id();
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(on_start, on_end)
          .needsInputs(arguments || QuantizedLayers::any())
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                   at::RecordScope::USER_SCOPE}));
  const auto remove = c10::make_scope_exit([&] { at::removeCallback(handle); });
  work();
}

}  // namespace fathom::ops
