#include "ops/table.h"

#include <algorithm>

namespace fathom::ops {

const std::vector<OpType>& op_types() {
  static const std::vector<OpType> types{
      {"matmul",
       {Pass::kForward, Pass::kDgrad, Pass::kWgrad},
       {Backend::kTorch, Backend::kOneDnn},
       make_matmul,
       recognise_matmul},
  };
  return types;
}

const OpType* op_type(std::string_view name) {
  const auto& types = op_types();
  const auto type =
      std::find_if(types.begin(), types.end(), [&](const auto& row) { return row.name == name; });
  return type == types.end() ? nullptr : &*type;
}

std::vector<std::string_view> op_type_names() {
  std::vector<std::string_view> names;
  for (const auto& type : op_types()) names.push_back(type.name);
  return names;
}

}  // namespace fathom::ops
