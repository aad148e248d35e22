#pragma once

#include <map>
#include <vector>

#include "ops/core/op.h"
#include "ops/profiler/observe.h"

namespace fathom::ops {

/// The type and the ops of an event.
struct Match {
  const OpType* type = nullptr;
  std::vector<MatchedOp> ops;  ///< several if one call runs several; may be empty
  bool continues = false;      ///< a further node of a scope's gradient: the same call as before
};

/// Matches the events of one thread to op types. What runs inside a matched op, or inside a
/// profiling scope "op:<type>", is part of it, as are the scope's gradients.
class OpMatcher {
 public:
  Match match(const Event& event);

 private:
  struct Scope {
    const OpType* type;
    std::vector<MatchedOp> ops;
    bool backward = false;  ///< its gradient has begun
  };

  std::map<int64_t, Scope> scopes_;  ///< by number
};

}  // namespace fathom::ops
