#pragma once

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "ops/table.h"

namespace fathom::tests {

inline const ops::OpType& op_type(std::string_view name) {
  return *std::find_if(ops::op_types().begin(), ops::op_types().end(),
                       [&](const ops::OpType& type) { return type.name == name; });
}

/// Throws ops::ShapeError where the type does not take these fields.
inline std::unique_ptr<ops::Op> make_op(std::string_view type, ops::Pass pass,
                                        const nlohmann::json& row) {
  ops::Fields fields(row, "test");
  auto op = op_type(type).make(fields, pass);
  fields.done();
  return op;
}

}  // namespace fathom::tests
