#include "ops/types/table.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace fathom::ops {

// Each is defined in a file of its own: one record, or a family's table of them.
OpType matmul_type();
OpType batched_matmul_type();
OpType quantized_matmul_type();
OpType lstm_type();
OpType lstm_cell_type();
OpType lstm_recurrence_type();
OpType gru_type();
OpType gru_cell_type();
OpType clipped_relu_rnn_type();
OpType additive_attention_type();
OpType scaled_dot_product_attention_type();
OpType selective_scan_type();
OpType grouped_matmul_type();
OpType sampled_softmax_type();
OpType conv2d_type();
OpType quantized_conv2d_type();
OpType causal_conv1d_type();
OpType bias_add_type();
OpType gelu_type();
OpType swiglu_type();
OpType rotary_type();
OpType quantize_type();
OpType dequantize_type();
OpType batch_norm_type();
OpType group_norm_type();
OpType layer_norm_type();
OpType add_layer_norm_type();
OpType rms_norm_type();
OpType local_response_norm_type();
OpType max_pool_type();
OpType avg_pool_type();
OpType upsample_nearest_type();
OpType roi_align_type();
OpType nms_type();
OpType softmax_type();
OpType log_softmax_type();
OpType softmax_cross_entropy_type();
OpType ctc_loss_type();
OpType sum_type();
OpType arg_max_type();
OpType dropout_type();
OpType log_uniform_type();
OpType multinomial_type();
OpType embedding_type();
OpType gather_type();
OpType index_type();
OpType index_put_type();
OpType index_add_type();
OpType expert_counts_type();
OpType where_type();
OpType sort_type();
OpType top_k_type();
OpType concat_type();
OpType copy_type();
OpType transpose_type();
OpType fill_type();
OpType pad_type();
std::vector<OpType> elementwise_types();
std::vector<OpType> distribution_types();
std::vector<OpType> update_types();

namespace {

std::vector<OpType> all_types() {
  std::vector<OpType> types{
      matmul_type(),
      batched_matmul_type(),
      quantized_matmul_type(),
      lstm_type(),
      lstm_cell_type(),
      lstm_recurrence_type(),
      gru_type(),
      gru_cell_type(),
      clipped_relu_rnn_type(),
      additive_attention_type(),
      scaled_dot_product_attention_type(),
      selective_scan_type(),
      grouped_matmul_type(),
      sampled_softmax_type(),
      conv2d_type(),
      quantized_conv2d_type(),
      causal_conv1d_type(),
      bias_add_type(),
      gelu_type(),
      swiglu_type(),
      rotary_type(),
      quantize_type(),
      dequantize_type(),
      batch_norm_type(),
      group_norm_type(),
      layer_norm_type(),
      add_layer_norm_type(),
      rms_norm_type(),
      local_response_norm_type(),
      max_pool_type(),
      avg_pool_type(),
      upsample_nearest_type(),
      roi_align_type(),
      nms_type(),
      softmax_type(),
      log_softmax_type(),
      softmax_cross_entropy_type(),
      ctc_loss_type(),
      sum_type(),
      arg_max_type(),
      dropout_type(),
      log_uniform_type(),
      multinomial_type(),
      embedding_type(),
      gather_type(),
      index_type(),
      index_put_type(),
      index_add_type(),
      expert_counts_type(),
      where_type(),
      sort_type(),
      top_k_type(),
      concat_type(),
      copy_type(),
      transpose_type(),
      fill_type(),
      pad_type(),
  };
  for (const auto& family : {elementwise_types(), distribution_types(), update_types()})
    types.insert(types.end(), family.begin(), family.end());
  return types;
}

std::set<std::string, std::less<>> all_with_composed_gradient() {
  std::set<std::string, std::less<>> calls;
  for (const auto& type : op_types()) {
    if (!type.composed_gradient) continue;
    for (const auto name : type.aten) calls.insert("aten::" + std::string(name));
  }
  return calls;
}

}  // namespace

Claims claims_of(const std::vector<OpType>& types) {
  Claims claims;
  const auto add = [&](const std::string& call, const Claim& claim) {
    const auto [other, added] = claims.emplace(call, claim);
    if (added) return;
    throw std::logic_error("\"" + call + "\" belongs to the op types " +
                           std::string(other->second.type->name) + " and " +
                           std::string(claim.type->name) + ", expected one");
  };
  for (const auto& type : types) {
    add("op:" + std::string(type.name), {&type, true});
    for (const auto name : type.aten) add("aten::" + std::string(name), {&type, true});
    for (const auto name : type.aten_parts) add("aten::" + std::string(name), {&type, false});
  }
  return claims;
}

const std::vector<OpType>& op_types() {
  static const std::vector<OpType> types = all_types();
  return types;
}

const OpType* op_type(std::string_view name) {
  const auto& types = op_types();
  const auto type = std::ranges::find(types, name, &OpType::name);
  return type == types.end() ? nullptr : &*type;
}

std::vector<std::string_view> op_type_names() {
  std::vector<std::string_view> names;
  for (const auto& type : op_types()) names.push_back(type.name);
  return names;
}

Claim claim_of(std::string_view call) {
  static const Claims claims = claims_of(op_types());
  const auto claim = claims.find(call);
  return claim == claims.end() ? Claim{} : claim->second;
}

bool has_composed_gradient(std::string_view call) {
  static const auto calls = all_with_composed_gradient();
  return calls.contains(call);
}

std::vector<MatchedOp> match(const Claim& claim, const ObservedCall& call) {
  return claim.has_rows ? claim.type->match(call) : std::vector<MatchedOp>{};
}

}  // namespace fathom::ops
