#include "models/modern/layers.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>

#include "models/modern/parallel_fill.h"
#include "ops/kernels/fused_composites.h"

namespace fathom::models {

MatrixImpl::MatrixImpl(int64_t outputs, int64_t inputs)
    : weight(register_parameter("weight", at::empty({outputs, inputs}))) {}

at::Tensor MatrixImpl::forward(const at::Tensor& x) const { return at::linear(x, weight); }

Matrix normal_matrix(int64_t outputs, int64_t inputs, double deviation) {
  Matrix matrix(outputs, inputs);
  fill_normal(matrix->weight, deviation);
  return matrix;
}

Matrix uniform_matrix(int64_t outputs, int64_t inputs, double bound) {
  Matrix matrix(outputs, inputs);
  fill_uniform(matrix->weight, bound);
  return matrix;
}

RmsNormImpl::RmsNormImpl(int64_t width, double epsilon)
    : weight(register_parameter("weight", at::ones({width}))), epsilon_(epsilon) {}

ops::SumAndNorm RmsNormImpl::forward(const Residual& in) const {
  const auto norm = ops::fused_composites() ? ops::fused_rms_norm : ops::rms_norm;
  return norm(in.x, in.update, weight, epsilon_);
}

}  // namespace fathom::models
