#include "ops/profiler/match.h"

#include <utility>

#include "ops/types/kinds.h"
#include "ops/types/table.h"

namespace fathom::ops {

Recognised Recogniser::recognise(const Event& event) {
  if (event.what == Event::What::kNode) {
    if (event.scope < 0) return {};
    Scope& scope = scopes_.at(event.scope);
    Recognised found{.type = scope.type, .ops = scope.ops};
    for (auto& op : found.ops) op.pass = Pass::kBackward;
    found.more = std::exchange(scope.backward, true);
    return found;
  }
  const OpKind* kind = kind_of(event.seen.name);
  const OpType* type = kind == nullptr ? nullptr : op_type(kind->name);
  Recognised found{.type = type,
                   .ops = type == nullptr ? std::vector<SeenOp>{} : type->recognise(event.seen)};
  if (event.what == Event::What::kScope) {
    scopes_[event.scope] = {.type = type, .ops = found.ops};
  }
  return found;
}

}  // namespace fathom::ops
