#include "ops/table.h"

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

std::vector<std::string_view> op_type_names() {
  std::vector<std::string_view> names;
  for (const auto& type : op_types()) names.push_back(type.name);
  return names;
}

}  // namespace fathom::ops
