#include "ops/table.h"

#include <algorithm>

namespace fathom::ops {

namespace {

std::vector<OpType> all_types() {
  const std::vector<Pass> matrix{Pass::kForward, Pass::kDgrad, Pass::kWgrad};
  const std::vector<Pass> both{Pass::kForward, Pass::kBackward};
  const std::vector<Pass> forward{Pass::kForward};
  const std::vector<Backend> torch{Backend::kTorch};
  std::vector<OpType> types{
      {"matmul", matrix, {Backend::kTorch, Backend::kOneDnn}, make_matmul, recognise_matmul},
      {"batched_matmul", forward, torch, make_batched_matmul, recognise_batched_matmul},
      {"lstm", both, torch, make_lstm, recognise_lstm},
      {"lstm_cell", both, torch, make_lstm_cell, recognise_lstm_cell},
      {"rnn", both, torch, make_rnn, recognise_rnn},
      {"attention", both, torch, make_attention, recognise_attention},
      {"sampled_softmax", both, torch, make_sampled_softmax, recognise_sampled_softmax},
      {"conv2d", matrix, torch, make_conv2d, recognise_conv2d},
      {"bias_add", forward, torch, make_bias_add, recognise_bias_add},
      {"batch_norm", both, torch, make_batch_norm, recognise_batch_norm},
      {"local_response_norm",
       both,
       {Backend::kTorch, Backend::kNative},
       make_local_response_norm,
       recognise_local_response_norm},
      {"max_pool", both, torch, make_max_pool, recognise_max_pool},
      {"avg_pool", both, torch, make_avg_pool, recognise_avg_pool},
      {"softmax", both, torch, make_softmax, recognise_softmax},
      {"softmax_cross_entropy", both, torch, make_softmax_cross_entropy,
       recognise_softmax_cross_entropy},
      {"ctc_loss", both, torch, make_ctc_loss, recognise_ctc_loss},
      {"sum", forward, torch, make_sum, recognise_sum},
      {"arg_max", forward, torch, make_arg_max, recognise_arg_max},
      {"dropout", both, torch, make_dropout, recognise_dropout},
      {"log_uniform", forward, torch, make_log_uniform, recognise_log_uniform},
      {"embedding", both, torch, make_embedding, recognise_embedding},
      {"gather", both, torch, make_gather, recognise_gather},
      {"concat", forward, torch, make_concat, recognise_concat},
      {"copy", forward, torch, make_copy, recognise_copy},
      {"transpose", forward, torch, make_transpose, recognise_transpose},
      {"fill", forward, torch, make_fill, recognise_fill},
      {"pad", forward, torch, make_pad, recognise_pad},
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
