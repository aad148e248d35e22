#pragma once

#include <string_view>
#include <vector>

#include "ops/op.h"

namespace fathom::ops {

/// Every op type; a new one is its own .cc and a row here.
const std::vector<OpType>& op_types();

/// The one of a name; null for none.
const OpType* op_type(std::string_view name);

/// Their names, in the same order.
std::vector<std::string_view> op_type_names();

std::unique_ptr<Op> make_matmul(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_matmul(const Seen& seen);

}  // namespace fathom::ops
