#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/var.h>

#include "ops/core/op.h"

namespace fathom::ops {

/// A normalization of rows [R, W] of its own steps, for float64 on the CPU: the reference of the
/// fused ops. Where a row has one element, large numbers cancel in it. Only in separate steps does
/// the check see them (ops/core/summands.h).
class ComposedNorm {
 public:
  ComposedNorm(const at::Tensor& rows, double epsilon)
      : scale_((rows.var(1, /*unbiased=*/false, /*keepdim=*/true) + epsilon).rsqrt()),
        normalized_((rows - rows.mean(1, /*keepdim=*/true)) * scale_) {}

  /// Whether a call over `x` uses it.
  static bool applies(const at::Tensor& x) { return x.scalar_type() == at::kDouble && x.is_cpu(); }

  /// With mean 0 and variance 1.
  const at::Tensor& normalized() const { return normalized_; }

  /// The gradient of the rows from `g`, that of normalized().
  at::Tensor gradient(const at::Tensor& g) const {
    const at::Tensor along = normalized_ * (g * normalized_).mean(1, /*keepdim=*/true);
    return scale_ * (g - g.mean(1, /*keepdim=*/true) - along);
  }

 private:
  at::Tensor scale_;
  at::Tensor normalized_;
};

}  // namespace fathom::ops
