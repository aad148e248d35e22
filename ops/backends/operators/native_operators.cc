#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "ops/backends/operators/replacement.h"
#include "ops/core/call_args.h"
#include "ops/kernels/decode_attention.h"
#include "ops/kernels/skinny_linear.h"

namespace fathom::ops {
namespace {

/// A linear layer of few samples. `transposed` is the weight as [K, N], usually a view.
std::optional<Results> few_rows(const at::Tensor& x, const at::Tensor& transposed,
                                const std::optional<at::Tensor>& bias) {
  const at::Tensor weight = transposed.t();
  if (x.size(0) > kMaxSkinnyRows || !x.is_contiguous() || !weight.is_contiguous() ||
      x.scalar_type() != at::kFloat || x.numel() == 0) {
    return {};
  }
  // What LibTorch broadcasts or refuses is LibTorch's.
  const bool fits = weight.scalar_type() == at::kFloat && weight.size(1) == x.size(1) &&
                    (!bias || bias->sizes() == weight.sizes().slice(0, 1));
  if (!fits) return {};
  return Results{skinny_linear(x, weight, bias)};
}

/// addmm(bias, x, weight, beta, alpha).
std::optional<Results> few_rows_addmm(Arguments in, KeptPointer& /*kept*/) {
  const at::Tensor& bias = in[0].toTensor();
  if (!in[3].toScalar().equal(1) || !in[4].toScalar().equal(1)) return {};
  return few_rows(in[1].toTensor(), in[2].toTensor(), bias);
}

/// mm(x, weight).
std::optional<Results> few_rows_mm(Arguments in, KeptPointer& /*kept*/) {
  return few_rows(in[0].toTensor(), in[1].toTensor(), {});
}

/// _scaled_dot_product_flash_attention_for_cpu(q, k, v, dropout, causal, mask, scale) of one query.
std::optional<Results> one_query(Arguments in, KeptPointer& /*kept*/) {
  const at::Tensor& q = in[0].toTensor();
  if (at::GradMode::is_enabled() || q.dim() != 4 || q.size(2) != 1 || in[3].toDouble() != 0 ||
      in[4].toBool() || q.scalar_type() != at::kFloat) {
    return {};
  }
  return Results{decode_attention(q, in[1].toTensor(), in[2].toTensor(), in[6].toOptional<double>(),
                                  in[5].toOptional<at::Tensor>()),
                 at::empty({0}, q.options())};  // the gradient's, which is not wanted
}

}  // namespace

std::vector<Replacement> native_operators() {
  std::vector<Replacement> all{{"addmm", few_rows_addmm},
                               {"mm", few_rows_mm},
                               {"_scaled_dot_product_flash_attention_for_cpu", one_query}};
  for (auto& one : all) one.backend = "native";
  return all;
}

}  // namespace fathom::ops
