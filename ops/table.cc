#include "ops/table.h"

#include <algorithm>

namespace fathom::ops {

namespace {

std::vector<OpType> all_types() {
  std::vector<OpType> types{
      {"matmul",
       {Pass::kForward, Pass::kDgrad, Pass::kWgrad},
       {Backend::kTorch, Backend::kOneDnn},
       make_matmul,
       recognise_matmul},
      {"batched_matmul",
       {Pass::kForward},
       {Backend::kTorch},
       make_batched_matmul,
       recognise_batched_matmul},
      {"bias_add", {Pass::kForward}, {Backend::kTorch}, make_bias_add, recognise_bias_add},
      {"sum", {Pass::kForward}, {Backend::kTorch}, make_sum, recognise_sum},
      {"arg_max", {Pass::kForward}, {Backend::kTorch}, make_arg_max, recognise_arg_max},
      {"dropout",
       {Pass::kForward, Pass::kBackward},
       {Backend::kTorch},
       make_dropout,
       recognise_dropout},
      {"log_uniform", {Pass::kForward}, {Backend::kTorch}, make_log_uniform, recognise_log_uniform},
      {"concat", {Pass::kForward}, {Backend::kTorch}, make_concat, recognise_concat},
      {"copy", {Pass::kForward}, {Backend::kTorch}, make_copy, recognise_copy},
      {"transpose", {Pass::kForward}, {Backend::kTorch}, make_transpose, recognise_transpose},
      {"fill", {Pass::kForward}, {Backend::kTorch}, make_fill, recognise_fill},
      {"pad", {Pass::kForward}, {Backend::kTorch}, make_pad, recognise_pad},
  };
  for (const auto& family : {elementwise_types(), random_types(), update_types()})
    types.insert(types.end(), family.begin(), family.end());
  return types;
}

}  // namespace

const std::vector<OpType>& op_types() {
  static const std::vector<OpType> types = all_types();
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
