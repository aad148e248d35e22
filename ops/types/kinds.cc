#include "ops/types/kinds.h"

#include <array>
#include <map>
#include <string>

namespace fathom::ops {
namespace {

using enum OpClass;

std::map<std::string, const OpKind*, std::less<>> kinds_by_name() {
  std::map<std::string, const OpKind*, std::less<>> kinds;
  for (const auto& kind : op_kinds()) {
    for (const auto aten : kind.aten) kinds["aten::" + std::string(aten)] = &kind;
    for (const char* prefix : {"aten::", "op:"}) kinds[prefix + std::string(kind.name)] = &kind;
  }
  return kinds;
}

}  // namespace

std::string_view name(OpClass op_class) {
  static constexpr std::array<std::string_view, 8> names{
      "matrix", "convolution",  "elementwise",   "reduction",
      "random", "optimization", "data_movement", "framework"};
  return names[static_cast<std::size_t>(op_class)];
}

const std::vector<OpKind>& op_kinds() {
  static const std::vector<OpKind> kinds{
      {"matmul", kMatrix, {"mm", "addmm", "mv", "addmv"}},
      {"batched_matmul", kMatrix, {"bmm", "baddbmm"}},
      {"lstm",
       kMatrix,
       {"mkldnn_rnn_layer", "mkldnn_rnn_layer_backward", "_cudnn_rnn", "_cudnn_rnn_backward"}},
      {"lstm_cell", kMatrix},
      {"rnn", kMatrix},
      {"attention", kMatrix},
      {"sampled_softmax", kMatrix},

      {"conv2d", kConvolution, {"convolution", "convolution_backward"}},

      {"relu", kElementwise, {"relu_", "clamp_min", "clamp_min_", "threshold_backward"}},
      {"clipped_relu", kElementwise, {"hardtanh", "hardtanh_", "hardtanh_backward"}},
      {"sigmoid", kElementwise, {"sigmoid_", "sigmoid_backward"}},
      {"tanh", kElementwise, {"tanh_", "tanh_backward"}},
      {"add", kElementwise, {"add_"}},
      {"bias_add", kElementwise},
      {"sub", kElementwise, {"sub_", "rsub"}},
      {"mul", kElementwise, {"mul_"}},
      {"div", kElementwise, {"div_"}},
      {"exp", kElementwise, {"exp_"}},
      {"sqrt", kElementwise, {"sqrt_"}},
      {"square", kElementwise, {"square_", "pow", "pow_"}},
      {"neg", kElementwise, {"neg_"}},
      {"huber_loss", kElementwise, {"huber_loss_backward"}},

      {"batch_norm",
       kReduction,
       {"native_batch_norm", "native_batch_norm_backward", "cudnn_batch_norm",
        "cudnn_batch_norm_backward"}},
      {"local_response_norm", kReduction},
      {"max_pool",
       kReduction,
       {"max_pool2d", "max_pool2d_with_indices", "max_pool2d_with_indices_backward"}},
      {"avg_pool",
       kReduction,
       {"adaptive_avg_pool2d", "_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward"}},
      {"softmax", kReduction, {"_softmax", "_softmax_backward_data"}},
      {"softmax_cross_entropy",
       kReduction,
       {"_log_softmax", "_log_softmax_backward_data", "cross_entropy_loss", "log_softmax",
        "nll_loss_forward", "nll_loss_backward"}},
      {"ctc_loss", kReduction, {"_ctc_loss", "_ctc_loss_backward", "_cudnn_ctc_loss"}},
      {"sum", kReduction, {"mean"}},
      {"arg_max", kReduction, {"argmax"}},

      {"normal", kRandom, {"normal_", "randn_like", "randn"}},
      {"uniform", kRandom, {"uniform_"}},
      {"log_uniform", kRandom},
      {"dropout",
       kRandom,
       {"dropout_", "feature_dropout", "native_dropout", "native_dropout_backward"}},

      {"sgd", kOptimization},
      {"momentum", kOptimization},
      {"adam", kOptimization},
      {"adagrad", kOptimization},
      {"rmsprop", kOptimization},
      {"clip_norm", kOptimization},

      {"concat", kMovement, {"cat", "stack"}},
      {"copy", kMovement, {"copy_", "clone", "_to_copy", "contiguous"}},
      {"fill",
       kMovement,
       {"fill_", "zero_", "zeros", "zeros_like", "ones", "ones_like", "full", "new_zeros"}},
      {"gather", kMovement, {"gather_backward", "scatter_add", "scatter_add_"}},
      {"embedding",
       kMovement,
       {"embedding_backward", "embedding_dense_backward", "embedding_sparse_backward"}},
      {"pad", kMovement, {"constant_pad_nd"}},
  };
  return kinds;
}

const OpKind* kind_of(std::string_view recorded) {
  static const auto kinds = kinds_by_name();
  const auto kind = kinds.find(recorded);
  return kind == kinds.end() ? nullptr : kind->second;
}

}  // namespace fathom::ops
