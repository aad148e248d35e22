#pragma once

#include <cctype>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/check.h"
#include "ops/core/field_reader.h"
#include "ops/types/shapes.h"
#include "ops/types/table.h"

namespace fathom::ops {

inline constexpr Pass kForward = Pass::kForward;
inline constexpr Pass kBackward = Pass::kBackward;
inline constexpr Pass kUpdate = Pass::kUpdate;

/// An op of a shapes file, with its fields as JSON.
struct Case {
  std::string_view type;
  Pass pass;
  std::string_view fields;

  /// Whether the fields contain this one.
  bool has(std::string_view field) const {
    return fields.find('"' + std::string(field) + '"') != std::string_view::npos;
  }
};

inline std::unique_ptr<Op> make_op(std::string_view type, Pass pass, std::string_view fields) {
  return parse_op(*op_type(type), pass, fields);
}

inline std::unique_ptr<Op> make_op(const Case& one) {
  return make_op(one.type, one.pass, one.fields);
}

/// The precisions of an op's rows on the CPU.
inline std::vector<fixtures::Precision> precisions(const Op& op) {
  using enum fixtures::Precision;
  const auto only = op.only_precision();
  return only ? std::vector{*only} : std::vector{kFp32, kBf16, kFp16};
}

/// The first output of an op in float64, flattened. `in` gets the inputs.
inline at::Tensor exact(const char* type, Pass pass, const char* fields, Tensors* in) {
  const auto op = make_op(type, pass, fields);
  *in = converted(op->inputs(3), at::kDouble, at::kCPU);
  return op->call(cloned(*in))()[0].flatten();
}

/// A name of letters, digits and underscores.
inline std::string case_name(const Case& one) {
  const std::string label =
      std::string(one.type) + "_" + std::string(name(one.pass)) + "_" + std::string(one.fields);
  std::string clean;
  for (const char c : label) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      clean += c;
    } else if (!clean.empty() && clean.back() != '_') {
      clean += '_';
    }
  }
  return clean;
}

/// Every pass of every op type, with the type's example shapes.
inline std::vector<Case> op_cases() {
  std::vector<Case> cases;
  for (const auto& type : op_types()) {
    for (const auto fields : type.examples) {
      for (const Pass pass : type.passes) cases.push_back({type.name, pass, fields});
    }
  }
  return cases;
}

}  // namespace fathom::ops
