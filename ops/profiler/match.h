#pragma once

#include <map>
#include <vector>

#include "ops/core/op.h"
#include "ops/profiler/watch.h"

namespace fathom::ops {

/// What an event is, as shape rows know it.
struct Recognised {
  const OpType* type = nullptr;
  std::vector<SeenOp> ops;  ///< several where one call makes them together; none: no type has it
  bool more = false;        ///< a further node of a scope's gradient: the same call as before
};

/// Finds the types of table.h in the events of one thread. What runs inside a recognised op, or
/// inside a profiling scope "op:<kind>", is part of it, as are the scope's gradients.
class Recogniser {
 public:
  Recognised recognise(const Event& event);

 private:
  struct Scope {
    const OpType* type;
    std::vector<SeenOp> ops;
    bool backward = false;  ///< its gradient has begun
  };

  std::map<int64_t, Scope> scopes_;  ///< by number
};

}  // namespace fathom::ops
