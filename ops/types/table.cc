#include "ops/types/table.h"

#include <algorithm>

namespace fathom::ops {

namespace {

std::vector<OpType> all_types() {
  const std::vector<Pass> matrix{Pass::kForward, Pass::kDgrad, Pass::kWgrad};
  const std::vector<Pass> both{Pass::kForward, Pass::kBackward};
  const std::vector<Pass> forward{Pass::kForward};
  std::vector<OpType> types{
      {"matmul", matrix, make_matmul, recognise_matmul},
      {"batched_matmul", forward, make_batched_matmul, recognise_batched_matmul},
      {"lstm", both, make_lstm, recognise_lstm},
      {"lstm_cell", both, make_lstm_cell, recognise_lstm_cell},
      {"rnn", both, make_rnn, recognise_rnn},
      {"attention", both, make_attention, recognise_attention},
      {"sampled_softmax", both, make_sampled_softmax, recognise_sampled_softmax},
      {"conv2d", matrix, make_conv2d, recognise_conv2d},
      {"bias_add", forward, make_bias_add, recognise_bias_add},
      {"batch_norm", both, make_batch_norm, recognise_batch_norm},
      {"local_response_norm", both, make_local_response_norm, recognise_local_response_norm},
      {"max_pool", both, make_max_pool, recognise_max_pool},
      {"avg_pool", both, make_avg_pool, recognise_avg_pool},
      {"softmax", both, make_softmax, recognise_softmax},
      {"softmax_cross_entropy", both, make_softmax_cross_entropy, recognise_softmax_cross_entropy},
      {"ctc_loss", both, make_ctc_loss, recognise_ctc_loss},
      {"sum", forward, make_sum, recognise_sum},
      {"arg_max", forward, make_arg_max, recognise_arg_max},
      {"dropout", both, make_dropout, recognise_dropout},
      {"log_uniform", forward, make_log_uniform, recognise_log_uniform},
      {"embedding", both, make_embedding, recognise_embedding},
      {"gather", both, make_gather, recognise_gather},
      {"concat", forward, make_concat, recognise_concat},
      {"copy", forward, make_copy, recognise_copy},
      {"transpose", forward, make_transpose, recognise_transpose},
      {"fill", forward, make_fill, recognise_fill},
      {"pad", forward, make_pad, recognise_pad},
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
