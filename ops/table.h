#pragma once

#include <string_view>
#include <vector>

#include "ops/op.h"

namespace fathom::ops {

/// Every op type; a new one is its own .cc and a row here, or a row in its family's.
const std::vector<OpType>& op_types();

/// The one of a name; null for none.
const OpType* op_type(std::string_view name);

/// Their names, in the same order.
std::vector<std::string_view> op_type_names();

/// Families that are tables of their own.
std::vector<OpType> elementwise_types();
std::vector<OpType> random_types();
std::vector<OpType> update_types();

std::unique_ptr<Op> make_matmul(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_matmul(const Seen& seen);
std::unique_ptr<Op> make_batched_matmul(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_batched_matmul(const Seen& seen);
std::unique_ptr<Op> make_bias_add(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_bias_add(const Seen& seen);
std::unique_ptr<Op> make_sum(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_sum(const Seen& seen);
std::unique_ptr<Op> make_arg_max(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_arg_max(const Seen& seen);
std::unique_ptr<Op> make_dropout(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_dropout(const Seen& seen);
std::unique_ptr<Op> make_log_uniform(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_log_uniform(const Seen& seen);
std::unique_ptr<Op> make_concat(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_concat(const Seen& seen);
std::unique_ptr<Op> make_copy(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_copy(const Seen& seen);
std::unique_ptr<Op> make_transpose(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_transpose(const Seen& seen);
std::unique_ptr<Op> make_fill(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_fill(const Seen& seen);
std::unique_ptr<Op> make_pad(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_pad(const Seen& seen);

}  // namespace fathom::ops
