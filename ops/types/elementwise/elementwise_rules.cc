#include "ops/types/elementwise/elementwise_rules.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/add.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/div.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/hardtanh_backward.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/huber_loss_backward.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/smooth_l1_loss.h>
#include <ATen/ops/smooth_l1_loss_backward.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/softplus_backward.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/square.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/threshold_backward.h>

#include "ops/core/call_args.h"
#include "ops/kernels/recurrent/clipped_relu_rnn.h"

namespace fathom::ops {
namespace {

using Unary = UnaryProblem::Kind;
using Binary = BinaryProblem::Kind;

constexpr double kNumber = 0.75;         // a plain number as second operand
constexpr double kHuberDelta = 1;        // where the loss turns linear, as in deepq
constexpr double kSmoothBeta = 1.0 / 9;  // likewise, as in detection

constexpr Values kX = Values::kNormal;
constexpr Values kNone = Values::kNone;

bool is_number(const c10::IValue& argument, double wanted) {
  return argument.isScalar() && argument.toScalar().to<double>() == wanted;
}

bool is_relu(const ObservedCall& call) {  // a clamp_min with another bound is not a ReLU
  return !call.name.starts_with("aten::clamp_min") || is_number(call.arguments[1], 0);
}

bool is_clipped_relu(const ObservedCall& call) {
  const std::size_t low = call.name == "aten::hardtanh_backward" ? 2 : 1;
  return is_number(call.arguments[low], 0) && is_number(call.arguments[low + 1], kClip);
}

bool is_square(const ObservedCall& call) {
  return call.arguments.size() == 1 || is_number(call.arguments[1], 2);
}

/// (x, beta, threshold), of a gradient g before them.
bool is_plain_softplus(const ObservedCall& call) {
  const std::size_t beta = is_gradient(call) ? 2 : 1;
  return is_number(call.arguments[beta], 1) && is_number(call.arguments[beta + 1], 20);
}

/// Losses have the arguments (x, y, reduction), their gradients g before them.
bool is_sum_of_losses(const ObservedCall& call) {
  return is_number(call.arguments[is_gradient(call) ? 3 : 2], at::Reduction::Sum);
}

/// (x, y, weights, weights of the positive class, reduction). A sum costs as much as the mean.
bool is_total_without_weights(const ObservedCall& call) {
  return !given(call.arguments[2]) && !given(call.arguments[3]) &&
         !is_number(call.arguments[4], at::Reduction::None);
}

}  // namespace

const std::vector<ElementwiseRule>& elementwise_rules() {
  static const std::vector<ElementwiseRule> rules{
      {.name = "relu",
       .aten = {"relu", "relu_", "clamp_min", "clamp_min_", "threshold_backward"},
       .operands = {kX, kNone},
       .flops = 0,
       .forward = [](const Tensors& in) { return at::relu(in[0]); },
       .backward = [](const at::Tensor& g, const at::Tensor& result,
                      const Tensors& /*in*/) { return at::threshold_backward(g, result, 0); },
       .is_type = is_relu,
       .in_place = [](const Tensors& in) { return in[0].relu_(); },
       .unary_kind = Unary::kRelu},
      {.name = "clipped_relu",
       .aten = {"hardtanh", "hardtanh_", "hardtanh_backward"},
       .operands = {Values::kBeyondClip, kNone},
       .flops = 0,
       .forward = [](const Tensors& in) { return at::hardtanh(in[0], 0, kClip); },
       .backward = [](const at::Tensor& g, const at::Tensor& /*result*/,
                      const Tensors& in) { return at::hardtanh_backward(g, in[0], 0, kClip); },
       .is_type = is_clipped_relu,
       .in_place =
           [](const Tensors& in) {
             at::Tensor x = in[0];
             return at::hardtanh_(x, 0, kClip);
           },
       .unary_kind = Unary::kClamp,
       .constants = {0, kClip}},
      {.name = "sigmoid",
       .aten = {"sigmoid", "sigmoid_", "sigmoid_backward"},
       .operands = {kX, kNone},
       .flops = 0,
       .forward = [](const Tensors& in) { return at::sigmoid(in[0]); },
       .backward = [](const at::Tensor& g, const at::Tensor& result,
                      const Tensors& /*in*/) { return at::sigmoid_backward(g, result); },
       .unary_kind = Unary::kSigmoid},
      {.name = "tanh",
       .aten = {"tanh", "tanh_", "tanh_backward"},
       .operands = {kX, kNone},
       .flops = 0,
       .forward = [](const Tensors& in) { return at::tanh(in[0]); },
       .backward = [](const at::Tensor& g, const at::Tensor& result,
                      const Tensors& /*in*/) { return at::tanh_backward(g, result); },
       .unary_kind = Unary::kTanh},
      {.name = "silu",
       .aten = {"silu", "silu_", "silu_backward"},
       .operands = {kX, kNone},
       .flops = 0,
       .forward = [](const Tensors& in) { return at::silu(in[0]); },
       .backward = [](const at::Tensor& g, const at::Tensor& /*result*/,
                      const Tensors& in) { return at::silu_backward(g, in[0]); },
       .unary_kind = Unary::kSwish,
       .constants = {1, 0}},
      {.name = "softplus",
       .aten = {"softplus", "softplus_backward"},
       .operands = {kX, kNone},
       .flops = 0,
       .forward = [](const Tensors& in) { return at::softplus(in[0]); },
       .backward = [](const at::Tensor& g, const at::Tensor& /*result*/,
                      const Tensors& in) { return at::softplus_backward(g, in[0], 1, 20); },
       .is_type = is_plain_softplus,
       .unary_kind = Unary::kSoftplus,
       .constants = {1, 0}},
      {.name = "add",
       .aten = {"add", "add_"},
       .operands = {kX, kX},
       .flops = 1,
       .forward = [](const Tensors& in) { return at::add(in[0], in[1]); },
       .with_number = [](const at::Tensor& x) { return at::add(x, kNumber); },
       .in_place = [](const Tensors& in) { return in[0].add_(in[1]); },
       .unary_kind = Unary::kLinear,
       .constants = {1, kNumber},
       .binary_kind = Binary::kAdd},
      {.name = "sub",
       .aten = {"sub", "sub_", "rsub"},
       .operands = {kX, kX},
       .flops = 1,
       .forward = [](const Tensors& in) { return at::sub(in[0], in[1]); },
       .with_number = [](const at::Tensor& x) { return at::sub(x, kNumber); },
       .unary_kind = Unary::kLinear,
       .constants = {1, -kNumber},
       .binary_kind = Binary::kSub},
      {.name = "mul",
       .aten = {"mul", "mul_"},
       .operands = {kX, kX},
       .flops = 1,
       .forward = [](const Tensors& in) { return at::mul(in[0], in[1]); },
       .with_number = [](const at::Tensor& x) { return at::mul(x, kNumber); },
       .unary_kind = Unary::kLinear,
       .constants = {kNumber, 0},
       .binary_kind = Binary::kMul},
      {.name = "div",
       .aten = {"div", "div_"},
       .operands = {kX, Values::kPositive},
       .flops = 0,
       .forward = [](const Tensors& in) { return at::div(in[0], in[1]); },
       .with_number = [](const at::Tensor& x) { return at::div(x, kNumber); },
       .unary_kind = Unary::kLinear,
       .constants = {static_cast<float>(1 / kNumber), 0},
       .binary_kind = Binary::kDiv},
      {.name = "exp",
       .aten = {"exp", "exp_"},
       .operands = {kX, kNone},
       .flops = 0,
       .forward = [](const Tensors& in) { return at::exp(in[0]); },
       .unary_kind = Unary::kExp},
      {.name = "sqrt",
       .aten = {"sqrt", "sqrt_"},
       .operands = {Values::kPositive, kNone},
       .flops = 0,
       .forward = [](const Tensors& in) { return at::sqrt(in[0]); },
       .unary_kind = Unary::kSqrt},
      {.name = "square",
       .aten = {"square", "square_", "pow", "pow_"},
       .operands = {kX, kNone},
       .flops = 1,
       .forward = [](const Tensors& in) { return at::square(in[0]); },
       .is_type = is_square,
       .unary_kind = Unary::kSquare},
      {.name = "neg",
       .aten = {"neg", "neg_"},
       .operands = {kX, kNone},
       .flops = 0,
       .forward = [](const Tensors& in) { return at::neg(in[0]); },
       .unary_kind = Unary::kLinear,
       .constants = {-1, 0}},
      {.name = "huber_loss",
       .aten = {"huber_loss", "huber_loss_backward"},
       .operands = {kX, kX},
       .flops = 0,
       .forward =
           [](const Tensors& in) {
             return at::huber_loss(in[0], in[1], at::Reduction::Sum, kHuberDelta);
           },
       .backward =
           [](const at::Tensor& g, const at::Tensor& /*result*/, const Tensors& in) {
             return at::huber_loss_backward(g, in[0], in[1], at::Reduction::Sum, kHuberDelta);
           },
       .is_type = is_sum_of_losses,
       .loss = true},
      {.name = "smooth_l1_loss",
       .aten = {"smooth_l1_loss", "smooth_l1_loss_backward"},
       .operands = {kX, kX},
       .flops = 0,
       .forward =
           [](const Tensors& in) {
             return at::smooth_l1_loss(in[0], in[1], at::Reduction::Sum, kSmoothBeta);
           },
       .backward =
           [](const at::Tensor& g, const at::Tensor& /*result*/, const Tensors& in) {
             return at::smooth_l1_loss_backward(g, in[0], in[1], at::Reduction::Sum, kSmoothBeta);
           },
       .is_type = is_sum_of_losses,
       .loss = true},
      {.name = "bce_loss",
       .aten = {"binary_cross_entropy_with_logits"},
       .operands = {kX, Values::kShare},
       .flops = 0,
       .forward =
           [](const Tensors& in) { return at::binary_cross_entropy_with_logits(in[0], in[1]); },
       .is_type = is_total_without_weights,
       .loss = true},
  };
  return rules;
}

}  // namespace fathom::ops
