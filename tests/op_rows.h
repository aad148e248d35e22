#pragma once

#include <algorithm>
#include <memory>
#include <string_view>

#include "ops/table.h"

namespace fathom::ops {

inline const OpType& type_of(std::string_view name) {
  const auto& types = op_types();
  return *std::find_if(types.begin(), types.end(),
                       [&](const OpType& type) { return type.name == name; });
}

/// The op of a row's own fields.
inline std::unique_ptr<Op> made(std::string_view type, Pass pass, const nlohmann::json& row) {
  Fields fields(row, "test");
  auto op = type_of(type).make(fields, pass);
  fields.done();
  return op;
}

/// A row; its fields as JSON.
struct Case {
  const char* type;
  Pass pass;
  const char* fields;
};

inline constexpr Pass kForward = Pass::kForward;
inline constexpr Pass kBackward = Pass::kBackward;
inline constexpr Pass kUpdate = Pass::kUpdate;

}  // namespace fathom::ops
