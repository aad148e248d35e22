#include "ops/core/match_fill.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <optional>

#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

/// Whether a dtype argument is floating. None stands for the dtype of the tensor argument, or fp32.
bool is_floating(const c10::IValue& argument) {
  return argument.isNone() ||
         (argument.isInt() && at::isFloatingType(static_cast<at::ScalarType>(argument.toInt())));
}

std::optional<Sizes> filled_sizes(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (arguments.empty()) return {};
  if (call.name == "aten::new_zeros") {  // (x, sizes, type, ...)
    if (!is_plain(arguments[0]) || !is_floating(arguments[2])) return {};
    return arguments[1].toIntVector();
  }
  if (is_plain(arguments[0])) {  // fill_(x, ...); zeros_like(x, type, ...)
    if (call.name.ends_with("_like") && !is_floating(arguments[1])) return {};
    return tensor_sizes(arguments[0].toTensor());
  }
  if (!arguments[0].isIntList()) return {};
  // (sizes, type, ...); full(sizes, value, type, ...)
  const std::size_t type = call.name == "aten::full" ? 2 : 1;
  if (!is_floating(arguments[type])) return {};
  return arguments[0].toIntVector();
}

}  // namespace

std::vector<MatchedOp> match_fill(const ObservedCall& call) {
  auto sizes = filled_sizes(call);
  if (!sizes || std::ranges::count(*sizes, 0) > 0) return {};
  if (sizes->empty()) sizes->push_back(1);
  return {matched(Pass::kForward, FillShape{*sizes})};
}

}  // namespace fathom::ops
