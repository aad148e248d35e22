#include "ops/kernels/add_norm.h"

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/record_function.h>

#include <vector>

#include "ops/core/autograd/custom_function.h"
#include "ops/core/buffer.h"
#include "ops/kernels/add_norm_cpu.h"

namespace fathom::ops {
namespace {

/// The arguments that a profile sees.
std::vector<c10::IValue> shown(const at::Tensor& x) { return {x}; }
std::vector<c10::IValue> shown(const at::Tensor& x, const at::Tensor& update) {
  return {x, update.defined()};
}

SumAndNorm composed(Norm norm, const at::Tensor& x, const at::Tensor& update,
                    const at::Tensor& weight, const at::Tensor& bias, double epsilon) {
  const at::Tensor sum = update.defined() ? x + update : x;
  if (norm == Norm::kLayer)
    return {sum, at::layer_norm(sum, {weight.numel()}, weight, bias, epsilon)};
  return {sum, at::rms_norm(sum, {weight.numel()}, weight, epsilon)};
}

CustomFunction::List backward(Norm norm, bool adds, const CustomFunction::Request& request) {
  const auto& saved = request.saved;
  const auto& gradients = request.gradients;
  const at::Tensor of_sum =
      adds && gradients[0].defined() ? gradients[0].contiguous() : at::Tensor();
  const at::Tensor& of_normalised = gradients.back();
  AddNormGradients found{.x = of_sum};
  if (of_normalised.defined())
    found = add_norm_backward_cpu(norm, of_sum, of_normalised.contiguous(), saved[0], saved[1],
                                  saved[2]);
  CustomFunction::List all{found.x};
  if (adds) all.push_back(found.x);
  all.push_back(found.weight);
  if (norm == Norm::kLayer) all.push_back(found.bias);
  return all;
}

SumAndNorm fused(Norm norm, const at::Tensor& x, const at::Tensor& update, const at::Tensor& weight,
                 const at::Tensor& bias, double epsilon) {
  const bool adds = update.defined();
  const at::ScalarType type = adds ? at::result_type(x, update) : x.scalar_type();
  if (!x.is_cpu() || !element(type)) return composed(norm, x, update, weight, bias, epsilon);
  const at::ScalarType computed = at::toOpMathType(type);
  const auto rows = [type](const at::Tensor& tensor) { return tensor.to(type).contiguous(); };
  CustomFunction::List inputs{rows(x)};
  if (adds) inputs.push_back(rows(update));
  inputs.push_back(weight.to(computed));
  if (norm == Norm::kLayer) inputs.push_back(bias.to(computed));
  const std::size_t weights = adds ? 2 : 1;  // the place of the weight
  const auto outputs = apply(
      {.forward = [&]() -> CustomFunction::Result {
         const auto [sum, normalised, statistics] =
             add_norm_cpu(norm, inputs[0], adds ? inputs[1] : at::Tensor(), inputs[weights],
                          norm == Norm::kLayer ? inputs.back() : at::Tensor(), epsilon);
         CustomFunction::Result result{{normalised}, {sum, statistics, inputs[weights]}};
         if (adds) result.outputs.insert(result.outputs.begin(), sum);
         return result;
       },
       .backward = [norm, adds](const auto& request) { return backward(norm, adds, request); },
       .undefined_gradients = true},
      inputs);
  return {adds ? outputs[0] : x, outputs.back()};
}

}  // namespace

SumAndNorm add_layer_norm(const at::Tensor& x, const at::Tensor& update, const at::Tensor& weight,
                          const at::Tensor& bias, double epsilon) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:add_layer_norm", shown(x));
  return composed(Norm::kLayer, x, update, weight, bias, epsilon);
}

SumAndNorm fused_add_layer_norm(const at::Tensor& x, const at::Tensor& update,
                                const at::Tensor& weight, const at::Tensor& bias, double epsilon) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:add_layer_norm", shown(x));
  return fused(Norm::kLayer, x, update, weight, bias, epsilon);
}

SumAndNorm rms_norm(const at::Tensor& x, const at::Tensor& update, const at::Tensor& weight,
                    double epsilon) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:rms_norm", shown(x, update));
  return composed(Norm::kRms, x, update, weight, {}, epsilon);
}

SumAndNorm fused_rms_norm(const at::Tensor& x, const at::Tensor& update, const at::Tensor& weight,
                          double epsilon) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:rms_norm", shown(x, update));
  return fused(Norm::kRms, x, update, weight, {}, epsilon);
}

}  // namespace fathom::ops
