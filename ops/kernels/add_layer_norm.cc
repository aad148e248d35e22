#include "ops/kernels/add_layer_norm.h"

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/result_type.h>
#include <ATen/record_function.h>

#include <vector>

#include "ops/core/autograd/custom_function.h"
#include "ops/core/buffer.h"
#include "ops/kernels/add_layer_norm_cpu.h"

namespace fathom::ops {
namespace {

/// The argument that a profile sees.
std::vector<c10::IValue> shown(const at::Tensor& x) { return {x}; }

SumAndNorm composed(const at::Tensor& x, const at::Tensor& update, const at::Tensor& weight,
                    const at::Tensor& bias, double epsilon) {
  const at::Tensor sum = x + update;
  return {sum, at::layer_norm(sum, {weight.numel()}, weight, bias, epsilon)};
}

CustomFunction::List backward(const CustomFunction::Request& request) {
  const auto& saved = request.saved;
  const auto& gradients = request.gradients;
  const at::Tensor of_sum = gradients[0].defined() ? gradients[0].contiguous() : at::Tensor();
  if (!gradients[1].defined()) return {of_sum, of_sum, {}, {}};
  const AddLayerNormGradients found =
      add_layer_norm_backward_cpu(of_sum, gradients[1].contiguous(), saved[0], saved[1], saved[2]);
  return {found.x, found.x, found.weight, found.bias};
}

}  // namespace

SumAndNorm add_layer_norm(const at::Tensor& x, const at::Tensor& update, const at::Tensor& weight,
                          const at::Tensor& bias, double epsilon) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:add_layer_norm", shown(x));
  return composed(x, update, weight, bias, epsilon);
}

SumAndNorm fused_add_layer_norm(const at::Tensor& x, const at::Tensor& update,
                                const at::Tensor& weight, const at::Tensor& bias, double epsilon) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:add_layer_norm", shown(x));
  const at::ScalarType type = at::result_type(x, update);
  if (!x.is_cpu() || !element(type)) return composed(x, update, weight, bias, epsilon);
  const at::ScalarType computed = at::toOpMathType(type);
  const auto rows = [type](const at::Tensor& tensor) { return tensor.to(type).contiguous(); };
  const CustomFunction::List inputs{rows(x), rows(update), weight.to(computed), bias.to(computed)};
  const auto outputs = apply({.forward = [&]() -> CustomFunction::Result {
                                const auto [sum, normalised, statistics] = add_layer_norm_cpu(
                                    inputs[0], inputs[1], inputs[2], inputs[3], epsilon);
                                return {{sum, normalised}, {sum, statistics, inputs[2]}};
                              },
                              .backward = backward,
                              .undefined_gradients = true},
                             inputs);
  return {outputs[0], outputs[1]};
}

}  // namespace fathom::ops
