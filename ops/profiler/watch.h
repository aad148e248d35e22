#pragma once

#include <functional>

#include "ops/core/op.h"

namespace fathom::ops {

/// Something that begins on a watched thread.
struct Event {
  enum class What {
    kOp,     ///< of LibTorch: "aten::mm"
    kScope,  ///< a profiling scope: "op:lstm_cell"
    kNode,  ///< of the backward pass; it has the name of the scope whose gradient it makes, or none
  };
  What what;
  ObservedCall call;
  int64_t scope = -1;  ///< scopes count from 0 as they begin: this one, or the one of the node
  int64_t node;        ///< autograd's number of this node, or of the one that it would make next
};

/// Hears of the ops of one thread, and of autograd's where the work is on a GPU.
class Watcher {
 public:
  /// Return true to suppress nested events.
  virtual bool start(const Event& event) = 0;
  /// The end of what was told last and has not ended.
  virtual void end() {}

 protected:
  ~Watcher() = default;
};

/// Runs `work` and tells `watcher` of what it runs, with arguments only where they are asked for;
/// one at a time in a process. Exceptions of `work` go through.
void watch(Watcher& watcher, const std::function<void()>& work, bool arguments);

}  // namespace fathom::ops
