#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "ops/backends/operators/onednn_calls.h"

namespace fathom::ops::onednn {
namespace {

/// a · b (+ addend).
std::optional<Results> product(KeptPointer& kept, const at::Tensor& a, const at::Tensor& b,
                               const std::optional<at::Tensor>& addend = {}) {
  if (!is_readable(a) || !is_readable(b) || (addend && !is_readable(*addend))) return {};
  std::vector<int64_t> sizes = a.sizes().vec();
  sizes.back() = b.size(-1);
  if (addend && addend->dim() > 1 && addend->sizes() != c10::IntArrayRef(sizes)) return {};
  if (addend && addend->dim() == 1 && addend->size(0) != sizes.back()) return {};
  const at::Tensor c = at::empty(sizes, a.options());
  Call call(kept);
  MatmulProblem problem{.a = call(a), .b = call(b), .c = call(c)};
  if (addend) problem.addend = call(*addend);
  return run(call, problem, {c});
}

/// addmm(addend, a, b, beta, alpha).
std::optional<Results> addmm(Arguments in, KeptPointer& kept) {
  if (!in[3].toScalar().equal(1) || !in[4].toScalar().equal(1)) return {};
  return product(kept, in[1].toTensor(), in[2].toTensor(), in[0].toTensor());
}

/// mm(a, b), bmm(a, b).
std::optional<Results> mm(Arguments in, KeptPointer& kept) {
  return product(kept, in[0].toTensor(), in[1].toTensor());
}

/// _softmax(x, dim, half_to_float) or, with `log`, _log_softmax.
template <bool log>
std::optional<Results> softmax(Arguments in, KeptPointer& kept) {
  const at::Tensor& x = in[0].toTensor();
  if (x.dim() == 0 || !is_readable(x) || in[2].toBool()) return {};
  const at::Tensor y = at::empty_like(x);
  const auto axis = static_cast<int>(at::maybe_wrap_dim(in[1].toInt(), x.dim()));
  Call call(kept);
  return run(call, SoftmaxProblem{.log = log, .x = call(x), .y = call(y), .axis = axis}, {y});
}

/// _softmax_backward_data(g, y, dim, input_dtype) or, with `log`, _log_softmax_backward_data.
template <bool log>
std::optional<Results> softmax_backward(Arguments in, KeptPointer& kept) {
  const at::Tensor& g = in[0].toTensor();
  const at::Tensor& y = in[1].toTensor();
  if (y.dim() == 0 || !is_readable(y) || !is_readable(g) || g.strides() != y.strides() ||
      in[3].toScalarType() != y.scalar_type()) {
    return {};
  }
  const at::Tensor dx = at::empty_like(y);
  Call call(kept);
  SoftmaxProblem problem{.log = log,
                         .x = call(y),
                         .y = call(g),
                         .axis = static_cast<int>(at::maybe_wrap_dim(in[2].toInt(), y.dim())),
                         .x_is_result = true};
  problem.dx = call(dx);
  return run(call, problem, {dx});
}

}  // namespace

std::vector<Replacement> operators() {
  std::vector<Replacement> all{{"addmm", addmm},
                               {"mm", mm},
                               {"bmm", mm},
                               {"convolution", convolution},
                               {"convolution_backward", convolution_backward},
                               {"max_pool2d_with_indices", max_pool},
                               {"max_pool2d_with_indices_backward", max_pool_backward,
                                /*forward=*/"max_pool2d_with_indices"},
                               {"avg_pool2d", avg_pool},
                               {"avg_pool2d_backward", avg_pool_backward},
                               {"native_batch_norm", batch_norm},
                               {"native_batch_norm_backward", batch_norm_backward},
                               {"mkldnn_rnn_layer", lstm_layer},
                               {"mkldnn_rnn_layer_backward", lstm_layer_backward,
                                /*forward=*/"mkldnn_rnn_layer"},
                               {"_softmax", softmax<false>},
                               {"_log_softmax", softmax<true>},
                               {"_softmax_backward_data", softmax_backward<false>},
                               {"_log_softmax_backward_data", softmax_backward<true>}};
  for (const auto& one : elementwise_operators()) all.push_back(one);
  for (auto& one : all) one.backend = "onednn";
  return all;
}

}  // namespace fathom::ops::onednn
