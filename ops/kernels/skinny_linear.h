#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace fathom::ops {

/// Rows of x for which skinny_linear() has a kernel.
constexpr int64_t kMaxSkinnyRows = 8;

/// A linear layer of few samples, such as the tokens that a language model decodes: x [M, K] ·
/// weight [N, K]ᵀ + bias [N] is [M, N]. Reading the weight is most of the work; this project's
/// kernel reads it once. It runs on the CPU for float and bfloat16, and sums in float. Elsewhere,
/// for no rows and for more, LibTorch's. Has no gradient.
at::Tensor skinny_linear(const at::Tensor& x, const at::Tensor& weight,
                         const std::optional<at::Tensor>& bias);

/// Whether skinny_linear() runs this project's kernel.
bool skinny_fits(const at::Tensor& x, const at::Tensor& weight);

/// x · weightᵀ into y [M, N], whose rows may be apart, on the calling thread alone. x and weight
/// are contiguous and skinny_fits() them.
void skinny_linear_into(const at::Tensor& x, const at::Tensor& weight, at::Tensor& y);

}  // namespace fathom::ops
