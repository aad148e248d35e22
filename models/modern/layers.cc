#include "models/modern/layers.h"

#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>

#include "ops/kernels/fused_composites.h"

namespace fathom::models {

MatrixImpl::MatrixImpl(const at::Tensor& initial) : weight(register_parameter("weight", initial)) {}

at::Tensor MatrixImpl::forward(const at::Tensor& x) const { return at::linear(x, weight); }

RmsNormImpl::RmsNormImpl(int64_t width, double epsilon)
    : weight(register_parameter("weight", at::ones({width}))), epsilon_(epsilon) {}

ops::SumAndNorm RmsNormImpl::forward(const Residual& in) const {
  const auto norm = ops::fused_composites() ? ops::fused_rms_norm : ops::rms_norm;
  return norm(in.x, in.update, weight, epsilon_);
}

}  // namespace fathom::models
