#include "ops/kernels/recurrent/flat_weights.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_cudnn_rnn_flatten_weight.h>
#include <ATen/ops/_use_cudnn_rnn_flatten_weight.h>

namespace fathom::ops {

void flatten_weights(const std::vector<at::Tensor>& weights, const CudnnRnn& rnn) {
  const bool flat = weights.front().storage().data() == weights.back().storage().data();
  if (flat || !weights.front().is_cuda() || !at::_use_cudnn_rnn_flatten_weight()) return;
  const at::NoGradGuard no_grad;
  at::_cudnn_rnn_flatten_weight(weights, rnn.per_layer, /*input_size=*/weights[0].size(1), rnn.mode,
                                /*hidden_size=*/weights[1].size(1), /*proj_size=*/0, rnn.layers,
                                /*batch_first=*/false, rnn.bidirectional);
}

}  // namespace fathom::ops
