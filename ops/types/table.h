#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/op.h"

namespace fathom::ops {

/// Every op type.
const std::vector<OpType>& op_types();

/// The op type of a name; null for none.
const OpType* op_type(std::string_view name);

/// The names of op_types(), in the same order.
std::vector<std::string_view> op_type_names();

/// The op type of a LibTorch op ("aten::mm") or of a scope ("op:adam").
struct Claim {
  const OpType* type = nullptr;  ///< null for none
  bool has_rows = false;         ///< whether match() applies; false for a part of a larger op
};
Claim claim_of(std::string_view call);

/// The claims of `types`, by call. Throws std::logic_error where two types claim one call.
using Claims = std::map<std::string, Claim, std::less<>>;
Claims claims_of(const std::vector<OpType>& types);

/// Whether a LibTorch op is one of OpType::aten of a type with composed_gradient.
bool has_composed_gradient(std::string_view call);

/// The ops of a call that belongs to the type of `claim`; none without a type.
std::vector<MatchedOp> match(const Claim& claim, const ObservedCall& call);

/// --fathom_ops: each type with its passes, backends, fields and an example.
std::string op_types_text();

}  // namespace fathom::ops
