#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sub.h>

#include "ops/backends/operators/onednn_calls.h"
#include "ops/core/call_args.h"

namespace fathom::ops::onednn {

/// native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, epsilon) gives
/// {y, mean, 1 / sqrt(variance + epsilon)} of the batch.
std::optional<Results> batch_norm(Arguments in, KeptPointer& kept) {
  const at::Tensor& x = in[0].toTensor();
  const bool training = in[5].toBool();
  const double momentum = in[6].toDouble();
  const double epsilon = in[7].toDouble();
  if (x.dim() != 4 || !is_readable(x) || x.scalar_type() != at::kFloat) return {};
  for (std::size_t i = 1; i < 5; ++i) {
    if (!given(in[i])) return {};
  }
  const at::Tensor y = at::empty_like(x);
  const at::Tensor& weight = in[1].toTensor();
  const at::Tensor& running_mean = in[3].toTensor();
  const at::Tensor& running_variance = in[4].toTensor();
  Call call(kept);
  BatchNormProblem problem{.x = call(x),
                           .weight = call(weight),
                           .bias = call(in[2].toTensor()),
                           .y = call(y),
                           .epsilon = epsilon};
  if (!training) {
    problem.statistics = {.mean = call(running_mean), .variance = call(running_variance)};
    return run(call, problem, {y, at::empty({0}, x.options()), at::empty({0}, x.options())});
  }
  Prepared* kernel = call.kernel(problem);
  if (kernel == nullptr) return {};
  const at::Tensor mean = at::empty_like(weight);
  const at::Tensor variance = at::empty_like(weight);
  kernel->run(call, {{Kernel::Part::kMean, mean}, {Kernel::Part::kVariance, variance}});
  const auto samples = static_cast<double>(x.numel()) / static_cast<double>(x.size(1));
  running_mean.lerp_(mean, momentum);
  running_variance.lerp_(at::mul(variance, samples / (samples - 1)), momentum);
  return Results{y, mean, at::rsqrt(at::add(variance, epsilon))};
}

/// native_batch_norm_backward(g, x, weight, running_mean, running_var, mean, inverse_deviation,
/// training, epsilon, output_mask) gives {dx, dweight, dbias}.
std::optional<Results> batch_norm_backward(Arguments in, KeptPointer& kept) {
  const at::Tensor& g = in[0].toTensor();
  const at::Tensor& x = in[1].toTensor();
  const double epsilon = in[8].toDouble();
  if (x.dim() != 4 || !is_readable(g) || !is_readable(x) || x.scalar_type() != at::kFloat ||
      !in[7].toBool() || !given(in[2]) || !given(in[6])) {
    return {};
  }
  const at::Tensor& weight = in[2].toTensor();
  Results results{at::empty_like(x), at::empty_like(weight), at::empty_like(weight)};
  const at::Tensor& mean = in[5].toTensor();
  const at::Tensor variance = at::sub(in[6].toTensor().pow(-2), epsilon);
  Call call(kept);
  BatchNormProblem problem{.x = call(x),
                           .weight = call(weight),
                           .bias = call(weight),  // not read
                           .y = call(g),
                           .epsilon = epsilon};
  problem.gradients = {.x = call(results[0]), .weight = call(results[1]), .bias = call(results[2])};
  Prepared* kernel = call.kernel(problem);
  if (kernel == nullptr) return {};
  kernel->run(call, {{Kernel::Part::kMean, mean}, {Kernel::Part::kVariance, variance}});
  return results;
}

}  // namespace fathom::ops::onednn
