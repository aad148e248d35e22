#include <ATen/ops/empty_like.h>

#include "ops/backends/operators/onednn_calls.h"

namespace fathom::ops::onednn {
namespace {

using Kind = UnaryProblem::Kind;

/// The limits of hardtanh, from argument `first` on; none of the others.
std::array<float, 2> constants(Kind kind, Arguments in, std::size_t first) {
  if (kind != Kind::kClamp) return {};
  return {in[first].toScalar().toFloat(), in[first + 1].toScalar().toFloat()};
}

/// relu(x), sigmoid(x), tanh(x), hardtanh(x, min, max), and in place relu_(x), ....
template <Kind kind, bool in_place>
std::optional<Results> activation(Arguments in, KeptPointer& kept) {
  const at::Tensor& x = in[0].toTensor();
  if (!is_readable(x)) return {};
  const at::Tensor y = in_place ? x : at::empty_like(x);
  Call call(kept);
  return run(
      call,
      UnaryProblem{.kind = kind, .x = call(x), .y = call(y), .constants = constants(kind, in, 1)},
      {y});
}

/// threshold_backward(g, y, threshold) of ReLU, hardtanh_backward(g, y, min, max), where y may be
/// x, sigmoid_backward(g, y), tanh_backward(g, y).
template <Kind kind>
std::optional<Results> activation_backward(Arguments in, KeptPointer& kept) {
  const at::Tensor& g = in[0].toTensor();
  const at::Tensor& y = in[1].toTensor();
  if (!is_readable(g) || !is_readable(y) || g.strides() != y.strides() ||
      g.scalar_type() != y.scalar_type()) {
    return {};
  }
  if (kind == Kind::kRelu && !in[2].toScalar().equal(0)) return {};
  const at::Tensor dx = at::empty_like(y);
  Call call(kept);
  UnaryProblem problem{.kind = kind,
                       .x = call(y),
                       .y = call(g),
                       .constants = constants(kind, in, 2),
                       .x_is_result = true};
  problem.dx = call(dx);
  return run(call, problem, {dx});
}

}  // namespace

std::vector<Replacement> elementwise_operators() {
  return {{"relu", activation<Kind::kRelu, false>},
          {"relu_", activation<Kind::kRelu, true>},
          {"threshold_backward", activation_backward<Kind::kRelu>},
          {"hardtanh", activation<Kind::kClamp, false>},
          {"hardtanh_", activation<Kind::kClamp, true>},
          {"hardtanh_backward", activation_backward<Kind::kClamp>},
          {"sigmoid", activation<Kind::kSigmoid, false>},
          {"sigmoid_backward", activation_backward<Kind::kSigmoid>},
          {"tanh", activation<Kind::kTanh, false>},
          {"tanh_backward", activation_backward<Kind::kTanh>}};
}

}  // namespace fathom::ops::onednn
