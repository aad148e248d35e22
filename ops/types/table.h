#pragma once

#include <string_view>
#include <vector>

#include "ops/core/op.h"

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

std::unique_ptr<Op> make_conv2d(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_conv2d(const Seen& seen);

std::unique_ptr<Op> make_max_pool(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_max_pool(const Seen& seen);

std::unique_ptr<Op> make_avg_pool(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_avg_pool(const Seen& seen);

std::unique_ptr<Op> make_batch_norm(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_batch_norm(const Seen& seen);

std::unique_ptr<Op> make_local_response_norm(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_local_response_norm(const Seen& seen);

std::unique_ptr<Op> make_lstm(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_lstm(const Seen& seen);

std::unique_ptr<Op> make_lstm_cell(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_lstm_cell(const Seen& seen);

std::unique_ptr<Op> make_rnn(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_rnn(const Seen& seen);

std::unique_ptr<Op> make_attention(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_attention(const Seen& seen);

std::unique_ptr<Op> make_sampled_softmax(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_sampled_softmax(const Seen& seen);

std::unique_ptr<Op> make_ctc_loss(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_ctc_loss(const Seen& seen);

std::unique_ptr<Op> make_softmax(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_softmax(const Seen& seen);

std::unique_ptr<Op> make_softmax_cross_entropy(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_softmax_cross_entropy(const Seen& seen);

std::unique_ptr<Op> make_embedding(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_embedding(const Seen& seen);

std::unique_ptr<Op> make_gather(Fields& fields, Pass pass);
std::vector<SeenOp> recognise_gather(const Seen& seen);

}  // namespace fathom::ops
