#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "ops/backends/operators/onednn_calls.h"
#include "ops/core/call_args.h"
#include "ops/core/pool_windows.h"

namespace fathom::ops::onednn {
namespace {

PoolProblem pool_problem(Call& call, PoolProblem::Kind kind, const at::Tensor& x,
                         const at::Tensor& y, const PoolWindows& how) {
  return {.kind = kind,
          .x = call(x),
          .y = call(y),
          .kernel = how.kernel,
          .stride = how.stride,
          .padding = how.padding,
          .dilation = how.dilation};
}

/// (kernel, stride, padding, ceil, count_include_pad, divisor) of average pooling; nothing where
/// oneDNN divides by another number.
std::optional<std::pair<PoolProblem::Kind, PoolWindows>> avg_pool_arguments(Arguments in,
                                                                            std::size_t first) {
  const PoolWindows how = windows_argument(in, first, /*dilated=*/false);
  const bool padded = in[first + 4].toBool();
  if (!in[first + 5].isNone() || (how.ceil && padded)) return {};
  return std::pair(padded ? PoolProblem::Kind::kPaddedMean : PoolProblem::Kind::kMean, how);
}

}  // namespace

/// max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil) gives {y, indices}. The
/// indices are oneDNN's workspace, bytes that only the gradient below reads.
std::optional<Results> max_pool(Arguments in, KeptPointer& kept) {
  const at::Tensor& x = in[0].toTensor();
  if (x.dim() != 4 || !is_readable(x)) return {};
  const PoolWindows how = windows_argument(in, 1, /*dilated=*/true);
  const at::Tensor y = image_like(x, how.output(x.sizes().vec()));
  Call call(kept);
  const PoolProblem problem = pool_problem(call, PoolProblem::Kind::kMax, x, y, how);
  Prepared* kernel = call.kernel(problem);
  if (kernel == nullptr) return {};
  const at::Tensor workspace =
      at::empty({static_cast<int64_t>(kernel->workspace_bytes())}, x.options().dtype(at::kByte));
  kernel->run(call, {{Kernel::Part::kWorkspace, workspace}});
  return Results{y, workspace};
}

/// max_pool2d_with_indices_backward(g, x, kernel, stride, padding, dilation, ceil, indices).
std::optional<Results> max_pool_backward(Arguments in, KeptPointer& kept) {
  const at::Tensor& g = in[0].toTensor();
  const at::Tensor& x = in[1].toTensor();
  const at::Tensor& workspace = in[7].toTensor();
  if (workspace.scalar_type() != at::kByte) return {};  // indices of LibTorch's kernel
  const at::Tensor dense = is_readable(g) ? g : g.contiguous(x.suggest_memory_format());
  const at::Tensor dx = at::empty_like(x);
  Call call(kept);
  PoolProblem problem = pool_problem(call, PoolProblem::Kind::kMax, x, dense,
                                     windows_argument(in, 2, /*dilated=*/true));
  problem.dx = call(dx);
  Prepared* kernel = call.kernel(problem);
  TORCH_CHECK(kernel != nullptr, "oneDNN has max-pooling, but not its gradient");
  kernel->run(call, {{Kernel::Part::kWorkspace, workspace}});
  return Results{dx};
}

/// avg_pool2d(x, kernel, stride, padding, ceil, count_include_pad, divisor).
std::optional<Results> avg_pool(Arguments in, KeptPointer& kept) {
  const at::Tensor& x = in[0].toTensor();
  const auto found = avg_pool_arguments(in, 1);
  if (!found || x.dim() != 4 || !is_readable(x)) return {};
  const auto& [kind, how] = *found;
  const at::Tensor y = image_like(x, how.output(x.sizes().vec()));
  Call call(kept);
  return run(call, pool_problem(call, kind, x, y, how), {y});
}

/// avg_pool2d_backward(g, x, kernel, stride, padding, ceil, count_include_pad, divisor).
std::optional<Results> avg_pool_backward(Arguments in, KeptPointer& kept) {
  const at::Tensor& g = in[0].toTensor();
  const at::Tensor& x = in[1].toTensor();
  const auto found = avg_pool_arguments(in, 2);
  if (!found || x.dim() != 4 || !is_readable(g) || !is_readable(x)) return {};
  const auto& [kind, how] = *found;
  const at::Tensor dx = at::empty_like(x);
  Call call(kept);
  PoolProblem problem = pool_problem(call, kind, x, g, how);
  problem.dx = call(dx);
  return run(call, problem, {dx});
}

}  // namespace fathom::ops::onednn
