#include "ops/kernels/additive_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/linear.h>
#include <ATen/record_function.h>

#include <vector>

#include "ops/core/autograd/autocast.h"
#include "ops/core/autograd/custom_function.h"
#include "ops/core/buffer.h"
#include "ops/kernels/additive_attention_cpu.h"

namespace fathom::ops {
namespace {

/// The arguments that a profile sees.
std::vector<c10::IValue> shown(const at::Tensor& memory, const at::Tensor& keys,
                               const std::optional<at::Tensor>& mask) {
  std::vector<c10::IValue> arguments{memory, keys};
  if (mask) arguments.emplace_back(*mask);
  return arguments;
}

/// The inputs as the kernel reads them: contiguous, and of the type of autocast or of the memory.
AttentionInputs as_kernel_inputs(const at::Tensor& memory, const at::Tensor& keys,
                                 const at::Tensor& query, const at::Tensor& score,
                                 const std::optional<at::Tensor>& mask) {
  const auto cast = [](const at::Tensor& tensor) { return in_autocast_type(tensor).contiguous(); };
  AttentionInputs in{cast(memory), cast(keys), cast(query), cast(score), {}};
  if (mask) in.mask = mask->to(in.memory.scalar_type()).contiguous();
  return in;
}

at::Tensor fused(const AttentionInputs& in) {
  return apply({.forward = [&]() -> CustomFunction::Result {
                  const auto [context, shares] = additive_attention_cpu(in);
                  CustomFunction::List saved{in.memory, in.keys, in.query, in.score, shares};
                  if (in.mask) saved.push_back(*in.mask);
                  return {{context}, saved};
                },
                .backward = [](const CustomFunction::Request& request) -> CustomFunction::List {
                  const auto& saved = request.saved;
                  AttentionInputs kept{saved[0], saved[1], saved[2], saved[3], {}};
                  if (saved.size() > 5) kept.mask = saved[5];
                  const AttentionGradients found = additive_attention_backward_cpu(
                      request.gradients[0].contiguous(), kept, saved[4]);
                  return {found.memory, found.keys, found.query, found.score};
                }},
               {in.memory, in.keys, in.query, in.score})[0];
}

at::Tensor composed(const at::Tensor& memory, const at::Tensor& keys, const at::Tensor& query,
                    const at::Tensor& score, const std::optional<at::Tensor>& mask) {
  at::Tensor scores = at::linear((keys + query.unsqueeze(1)).tanh_(), score);  // [N, T, 1]
  if (mask) scores.add_(mask->unsqueeze(2));
  return at::bmm(scores.softmax(1).transpose(1, 2), memory).squeeze(1);
}

}  // namespace

at::Tensor additive_attention(const at::Tensor& memory, const at::Tensor& keys,
                              const at::Tensor& query, const at::Tensor& score,
                              const std::optional<at::Tensor>& mask) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:additive_attention", shown(memory, keys, mask));
  return composed(memory, keys, query, score, mask);
}

at::Tensor fused_additive_attention(const at::Tensor& memory, const at::Tensor& keys,
                                    const at::Tensor& query, const at::Tensor& score,
                                    const std::optional<at::Tensor>& mask) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:additive_attention", shown(memory, keys, mask));
  if (memory.is_cpu() && element(memory.scalar_type())) {
    return fused(as_kernel_inputs(memory, keys, query, score, mask));
  }
  return composed(memory, keys, query, score, mask);
}

}  // namespace fathom::ops
