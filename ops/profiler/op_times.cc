#include "ops/profiler/op_times.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace fathom::ops {

const Ledger::Op* Ledger::enter(const Event& event) {
  if (event.seen.name.empty()) return nullptr;
  const Op& op = known(event.seen.name);
  // The gradient of a scope is one call with several nodes.
  const bool more =
      event.what == Event::What::kNode && event.scope == std::exchange(last_owner_, event.scope);
  if (!more) ++op.time->count;
  return &op;
}

Profile Ledger::profile(double seconds) const {
  Profile all{.ops = {}, .seconds = seconds};
  OpTime between{.type = "framework", .op_class = OpClass::kFramework, .seconds = seconds};
  for (const auto& [type, time] : times_) {
    all.ops.push_back(time);
    between.seconds -= time.seconds;
  }
  all.ops.push_back(between);
  std::ranges::sort(all.ops, std::greater{}, &OpTime::seconds);
  return all;
}

const Ledger::Op& Ledger::known(std::string_view name) {
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

}  // namespace fathom::ops
