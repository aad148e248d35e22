#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/core/op.h"

namespace fathom::ops {

/// Every op type.
const std::vector<OpType>& op_types();

/// The one of a name; null for none.
const OpType* op_type(std::string_view name);

/// Their names, in the same order.
std::vector<std::string_view> op_type_names();

/// What claims an op of LibTorch ("aten::mm") or a scope ("op:adam").
struct Claim {
  const OpType* type = nullptr;  ///< null: nobody does
  bool has_rows = false;         ///< match() is to be asked; else it is an inner part
};
Claim claim_of(std::string_view call);

/// The ops of a call, and the type that they are of; none where no type has it.
std::vector<MatchedOp> match(const Claim& claim, const ObservedCall& call);

/// --fathom_ops: each type with its passes, backends, fields and an example.
std::string op_types_text();

}  // namespace fathom::ops
