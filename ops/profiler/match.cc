#include "ops/profiler/match.h"

#include <utility>

#include "ops/types/table.h"

namespace fathom::ops {

Match OpMatcher::match(const Event& event) {
  if (event.what == Event::What::kNode) {
    if (event.scope < 0) return {};
    Scope& scope = scopes_.at(event.scope);
    Match found{.type = scope.type, .ops = scope.ops};
    for (auto& op : found.ops) op.pass = Pass::kBackward;
    found.continues = std::exchange(scope.backward, true);
    return found;
  }
  const Claim claim = claim_of(event.call.name);
  Match found{.type = claim.type, .ops = ops::match(claim, event.call)};
  if (event.what == Event::What::kScope) {
    scopes_[event.scope] = {.type = found.type, .ops = found.ops};
  }
  return found;
}

}  // namespace fathom::ops
