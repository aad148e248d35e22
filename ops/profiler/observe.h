#pragma once

#include <functional>

#include "ops/core/op.h"

namespace fathom::ops {

/// An op, scope or node that begins on the observed thread.
struct Event {
  enum class What {
    kOp,     ///< an op of LibTorch: "aten::mm"
    kScope,  ///< a profiling scope: "op:lstm_cell", or an op whose gradient is composed
    kNode,   ///< a node of the backward pass, named after the scope that it differentiates, if any
  };
  What what;
  ObservedCall call;
  int64_t scope = -1;  ///< number of this scope, or of the scope of a node, from 0; -1 for none
  int64_t node;        ///< autograd's number of this node, or of the next one that it creates
};

/// Receives the events of one thread, and of autograd's where the work is on a GPU. What runs
/// inside a scope or inside a node of its gradient is part of it and starts no event.
class Observer {
 public:
  /// Return true to suppress nested events of another kind, too.
  virtual bool start(const Event& event) = 0;
  /// A call inside an event that suppresses it.
  virtual void nested(const ObservedCall& /*call*/) {}
  /// The end of the innermost open event.
  virtual void end() {}

 protected:
  ~Observer() = default;
};

/// Runs `work` and reports its events to `observer`, with arguments only if `arguments` is true.
/// `work` may call observe() again: then both observers get the events, with arguments if the outer
/// one asked for them. Two threads must not observe at once. Exceptions of `work` propagate.
void observe(Observer& observer, const std::function<void()>& work, bool arguments);

}  // namespace fathom::ops
