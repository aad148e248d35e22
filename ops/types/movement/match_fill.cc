#include "ops/types/movement/match_fill.h"

#include <c10/core/ScalarType.h>

#include "ops/core/tensor_sizes.h"
#include "ops/types/kinds.h"

namespace fathom::ops {
namespace {

/// An element type among a factory's arguments: none stands for that of the tensor, or fp32.
bool is_floating(const c10::IValue& argument) {
  return argument.isNone() ||
         (argument.isInt() && at::isFloatingType(static_cast<at::ScalarType>(argument.toInt())));
}

}  // namespace

std::vector<SeenOp> recognise_factory(std::string_view type, const Seen& seen) {
  const OpKind* kind = kind_of(seen.name);
  if (kind == nullptr || kind->name != type || seen.arguments.empty()) return {};
  nlohmann::ordered_json fields;
  if (seen.name == "aten::new_zeros") {  // (x, sizes, type, ...)
    if (!is_plain(seen.arguments[0]) || !is_floating(seen.arguments[2])) return {};
    fields["sizes"] = seen.arguments[1].toIntVector();
  } else if (is_plain(seen.arguments[0])) {  // fill_(x, ...); zeros_like(x, type, ...)
    if (seen.name.ends_with("_like") && !is_floating(seen.arguments[1])) return {};
    fields["sizes"] = extents(seen.arguments[0].toTensor());
  } else if (seen.arguments[0].isIntList()) {  // (sizes, type, ...); full(sizes, value, type, ...)
    const std::size_t element = seen.name == "aten::full" ? 2 : 1;
    if (!is_floating(seen.arguments[element])) return {};
    fields["sizes"] = seen.arguments[0].toIntVector();
  } else {
    return {};
  }
  if (fields["sizes"].empty()) fields["sizes"].push_back(1);
  for (const auto& extent : fields["sizes"])
    if (extent == 0) return {};
  return {{Pass::kForward, fields}};
}

}  // namespace fathom::ops
