#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "ops/backends/replaced_operators.h"
#include "ops/core/call_args.h"
#include "ops/kernels/decode_attention.h"
#include "ops/kernels/skinny_linear.h"

namespace fathom::ops {
namespace {

using Results = std::vector<at::Tensor>;

/// addmm(bias, x, weight, beta, alpha) of a linear layer of few samples; weight is [K, N], a
/// transposed view.
std::optional<Results> few_rows(Arguments in, const CallKey& /*key*/) {
  const at::Tensor& bias = in[0].toTensor();
  const at::Tensor& x = in[1].toTensor();
  const at::Tensor weight = in[2].toTensor().t();
  if (x.size(0) > kMaxSkinnyRows || bias.dim() != 1 || !in[3].toScalar().equal(1) ||
      !in[4].toScalar().equal(1) || !x.is_contiguous() || !weight.is_contiguous() ||
      x.scalar_type() != at::kFloat || x.numel() == 0) {
    return {};
  }
  return Results{skinny_linear(x, weight, bias)};
}

/// The same as mm(x, weight).
std::optional<Results> few_rows_without_bias(Arguments in, const CallKey& /*key*/) {
  const at::Tensor& x = in[0].toTensor();
  const at::Tensor weight = in[1].toTensor().t();
  if (x.size(0) > kMaxSkinnyRows || !x.is_contiguous() || !weight.is_contiguous() ||
      x.scalar_type() != at::kFloat || x.numel() == 0) {
    return {};
  }
  return Results{skinny_linear(x, weight, {})};
}

/// _scaled_dot_product_flash_attention_for_cpu(q, k, v, dropout, causal, mask, scale) of one query.
std::optional<Results> one_query(Arguments in, const CallKey& /*key*/) {
  const at::Tensor& q = in[0].toTensor();
  if (at::GradMode::is_enabled() || q.dim() != 4 || q.size(2) != 1 || in[3].toDouble() != 0 ||
      in[4].toBool() || given(in[5]) || !in[6].isNone() || q.scalar_type() != at::kFloat) {
    return {};
  }
  return Results{decode_attention(q, in[1].toTensor(), in[2].toTensor()),
                 at::empty({0}, q.options())};  // the gradient's, which is not wanted
}

}  // namespace

std::vector<Replacement> native_operators() {
  return {{"addmm", few_rows},
          {"mm", few_rows_without_bias},
          {"_scaled_dot_product_flash_attention_for_cpu", one_query}};
}

}  // namespace fathom::ops
