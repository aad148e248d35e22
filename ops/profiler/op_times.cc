#include "ops/profiler/op_times.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// Whether the values of an op's results are new: no views of its arguments, no numbers.
bool makes_values(const c10::FunctionSchema& schema) {
  return std::ranges::all_of(schema.returns(), [](const c10::Argument& result) {
    const auto kind = result.type()->kind();
    return (kind == c10::TypeKind::TensorType || kind == c10::TypeKind::ListType) &&
           (result.alias_info() == nullptr || result.alias_info()->isWrite());
  });
}

/// The class of a LibTorch op that belongs to no type: elementwise, which most of them are, or
/// framework where it computes nothing, as views and allocations.
OpClass class_of_other(const std::string& name) {
  constexpr std::array<std::string_view, 4> kNotComputing{"empty", "resize", "as_strided", "view"};
  const bool has_schema = name.find("::") != std::string::npos;
  if (!has_schema || std::ranges::any_of(kNotComputing, [&](std::string_view part) {
        return name.find(part) != std::string::npos;
      }))
    return OpClass::kFramework;
  const auto overloads = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name));
  const bool computes =
      !overloads.empty() && std::ranges::all_of(overloads, [](const auto& overload) {
        return makes_values(overload->schema());
      });
  return computes ? OpClass::kElementwise : OpClass::kFramework;
}

}  // namespace

const OpTimes::Op* OpTimes::enter(const Event& event) {
  if (event.call.name.empty()) return nullptr;
  const Op& op = known(event.call.name);
  if (op.time == nullptr) return nullptr;
  // The gradient of a scope is one call with several nodes.
  const bool continues =
      event.what == Event::What::kNode && event.scope == std::exchange(last_owner_, event.scope);
  if (!continues) ++op.time->count;
  return &op;
}

Profile OpTimes::profile(double seconds) const {
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

const OpTimes::Op& OpTimes::known(std::string_view name) {
  const auto found = ops_.find(name);  // the name may end with its event, so the map keeps a copy
  if (found != ops_.end()) return found->second;
  const OpType* type = claim_of(name).type;
  const std::string shown(type != nullptr ? type->name : name.substr(name.rfind(':') + 1));
  // at::matmul() calls at::mm(), which counts as matmul. Its own time belongs to no op type.
  if (type == nullptr && op_type(shown) != nullptr) {
    return ops_.emplace(name, Op{nullptr, nullptr}).first->second;
  }
  auto& time = times_[shown];
  if (time.type.empty()) {
    time.type = shown;
    time.op_class = type != nullptr ? type->op_class : class_of_other(std::string(name));
  }
  return ops_.emplace(name, Op{type, &time}).first->second;
}

}  // namespace fathom::ops
