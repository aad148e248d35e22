#include <ATen/WrapDimUtils.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sub.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ops/backends/onednn/library.h"
#include "ops/backends/replaced_operators.h"
#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops {
namespace {

using Results = std::vector<at::Tensor>;

/// Whether oneDNN can read the memory of a tensor.
bool is_readable(const at::Tensor& tensor) {
  const bool known = tensor.scalar_type() == at::kFloat ||
                     (tensor.scalar_type() == at::kBFloat16 && onednn::has_bf16());
  return known && tensor.layout() == at::kStrided && tensor.numel() > 0 &&
         tensor.is_non_overlapping_and_dense();
}

/// The memory of a call, in the order in which its problem names it.
class Call {
 public:
  /// A call of several kernels has a key for each `part`.
  explicit Call(CallKey key, int64_t part = 0) : key_(std::move(key)) { key_.push_back(part); }

  /// Adds a tensor that the kernel reads or writes.
  Buffer operator()(const at::Tensor& tensor) {
    const Buffer made = buffer(tensor);
    memory_.push_back(made.data);
    return made;
  }

  const CallKey& key() const { return key_; }
  const std::vector<void*>& memory() const { return memory_; }

 private:
  CallKey key_;
  std::vector<void*> memory_;
};

/// A kernel and the memory that it was made for.
class Prepared {
 public:
  /// The kernel for a call; null where oneDNN has none.
  static Prepared* of(const Call& call, const Problem& problem) {
    const auto [place, added] = all().try_emplace(call.key());
    Prepared& one = place->second;
    if (added) {
      try {
        one.kernel_ = onednn::kernel(problem);
        one.memory_ = call.memory();
      } catch (const NotSupported&) {
        one.kernel_ = nullptr;
      }
    }
    return one.kernel_ == nullptr ? nullptr : &one;
  }

  /// Destroys the kernels of a call, with their memory.
  static void forget(const CallKey& key) {
    const auto is_part = [&](const CallKey& other) {
      return other.size() == key.size() + 1 && std::equal(key.begin(), key.end(), other.begin());
    };
    auto place = all().lower_bound(key);
    while (place != all().end() && is_part(place->first)) place = all().erase(place);
  }

  /// Runs it over the memory of another call. `parts` replace the kernel's own.
  void run(const Call& call, const std::vector<std::pair<Kernel::Part, at::Tensor>>& parts = {}) {
    std::vector<void*> from = memory_;
    std::vector<void*> to = call.memory();
    for (const auto& [part, tensor] : parts) {
      auto [place, added] = parts_.try_emplace(part);
      if (added) place->second = kernel_->place(part).data;
      from.push_back(place->second);
      to.push_back(tensor.mutable_data_ptr());
    }
    kernel_->run_over(from, to);
  }

  std::size_t workspace_bytes() const { return kernel_->place(Kernel::Part::kWorkspace).bytes; }

 private:
  static std::map<CallKey, Prepared>& all() {
    static std::map<CallKey, Prepared> kernels;
    return kernels;
  }

  std::unique_ptr<Kernel> kernel_;
  std::vector<void*> memory_;
  std::map<Kernel::Part, void*> parts_;
};

/// Runs the kernel for `problem` over the memory of `call`. False where oneDNN has none.
bool run(const Call& call, const Problem& problem) {
  Prepared* kernel = Prepared::of(call, problem);
  if (kernel != nullptr) kernel->run(call);
  return kernel != nullptr;
}

/// a · b (+ addend).
std::optional<Results> product(const CallKey& key, const at::Tensor& a, const at::Tensor& b,
                               const std::optional<at::Tensor>& addend = {}) {
  if (!is_readable(a) || !is_readable(b) || (addend && !is_readable(*addend))) return {};
  std::vector<int64_t> sizes = a.sizes().vec();
  sizes.back() = b.size(-1);
  if (addend && addend->dim() > 1 && addend->sizes() != c10::IntArrayRef(sizes)) return {};
  if (addend && addend->dim() == 1 && addend->size(0) != sizes.back()) return {};
  const at::Tensor c = at::empty(sizes, a.options());
  Call call(key);
  MatmulProblem problem{.a = call(a), .b = call(b), .c = call(c)};
  if (addend) problem.addend = call(*addend);
  if (!run(call, problem)) return {};
  return Results{c};
}

/// addmm(addend, a, b, beta, alpha).
std::optional<Results> addmm(Arguments in, const CallKey& key) {
  if (!in[3].toScalar().equal(1) || !in[4].toScalar().equal(1)) return {};
  return product(key, in[1].toTensor(), in[2].toTensor(), in[0].toTensor());
}

/// mm(a, b), bmm(a, b).
std::optional<Results> mm(Arguments in, const CallKey& key) {
  return product(key, in[0].toTensor(), in[1].toTensor());
}

/// An empty image [N, C, H, W] in the memory format of another one.
at::Tensor image_like(const at::Tensor& other, c10::IntArrayRef sizes) {
  return at::empty(sizes, other.options(), other.suggest_memory_format());
}

/// The arguments of a convolution from stride to groups; nothing for one that oneDNN does not run
/// here.
struct ConvolutionArguments {
  Pair stride, padding, dilation;
  int64_t groups;

  /// (stride, padding, dilation, transposed, output_padding, groups) begin at in[first].
  static std::optional<ConvolutionArguments> of(Arguments in, std::size_t first) {
    if (in[first + 3].toBool()) return {};
    return ConvolutionArguments{.stride = pair_argument(in[first]),
                                .padding = pair_argument(in[first + 1]),
                                .dilation = pair_argument(in[first + 2]),
                                .groups = in[first + 5].toInt()};
  }
};

/// Computes what `writes` says; bias may be undefined.
bool convolve(const CallKey& key, ConvolutionProblem::Writes writes, const at::Tensor& x,
              const at::Tensor& w, const at::Tensor& y, const at::Tensor& bias,
              const ConvolutionArguments& how) {
  Call call(key, static_cast<int64_t>(writes));
  ConvolutionProblem problem{.writes = writes,
                             .x = call(x),
                             .w = call(w),
                             .y = call(y),
                             .bias = {},
                             .stride = how.stride,
                             .padding = how.padding,
                             .dilation = how.dilation,
                             .groups = how.groups};
  if (bias.defined()) problem.bias = call(bias);
  return run(call, problem);
}

int64_t windows(int64_t in, int64_t kernel, const ConvolutionArguments& how, std::size_t axis) {
  const int64_t reach = how.dilation[axis] * (kernel - 1) + 1;
  return (in + 2 * how.padding[axis] - reach) / how.stride[axis] + 1;
}

/// convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups).
std::optional<Results> convolution(Arguments in, const CallKey& key) {
  const at::Tensor& x = in[0].toTensor();
  const at::Tensor& w = in[1].toTensor();
  const at::Tensor bias = given(in[2]) ? in[2].toTensor() : at::Tensor();
  if (x.dim() != 4 || !is_readable(x) || !is_readable(w)) return {};
  const auto how = ConvolutionArguments::of(in, 3);
  if (!how) return {};
  const at::Tensor y = image_like(x, {x.size(0), w.size(0), windows(x.size(2), w.size(2), *how, 0),
                                      windows(x.size(3), w.size(3), *how, 1)});
  if (!convolve(key, ConvolutionProblem::Writes::kY, x, w, y, bias, *how)) return {};
  return Results{y};
}

/// convolution_backward(g, x, weight, bias_sizes, stride, padding, dilation, transposed,
/// output_padding, groups, output_mask) gives {dx, dweight, dbias}.
std::optional<Results> convolution_backward(Arguments in, const CallKey& key) {
  using enum ConvolutionProblem::Writes;
  const at::Tensor& g = in[0].toTensor();
  const at::Tensor& x = in[1].toTensor();
  const at::Tensor& w = in[2].toTensor();
  if (x.dim() != 4 || !is_readable(g) || !is_readable(x) || !is_readable(w)) return {};
  const auto how = ConvolutionArguments::of(in, 4);
  if (!how) return {};
  const auto wanted = in[10].toBoolList();
  Results results(3);
  if (wanted[0]) {
    results[0] = at::empty_like(x);
    if (!convolve(key, kX, results[0], w, g, {}, *how)) return {};
  }
  if (wanted[1] || wanted[2]) {
    results[1] = at::empty_like(w);
    if (wanted[2]) results[2] = at::empty({w.size(0)}, w.options());
    if (!convolve(key, kW, x, results[1], g, results[2], *how)) return {};
  }
  return results;
}

/// The windows of a pooling op, whose arguments begin at in[first]: kernel, stride, padding.
struct PoolArguments {
  Pair kernel, stride, padding, dilation;
  bool ceil;

  int64_t count(int64_t in, std::size_t axis) const {
    const int64_t extent = in + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1;
    const int64_t windows = (extent + (ceil ? stride[axis] - 1 : 0)) / stride[axis] + 1;
    return ceil && (windows - 1) * stride[axis] >= in + padding[axis] ? windows - 1 : windows;
  }
};

/// (kernel, stride, padding, dilation, ceil) of max-pooling.
PoolArguments max_pool_arguments(Arguments in, std::size_t first) {
  const Pair kernel = pair_argument(in[first]);
  return {.kernel = kernel,
          .stride = pair_argument(in[first + 1], kernel),
          .padding = pair_argument(in[first + 2]),
          .dilation = pair_argument(in[first + 3]),
          .ceil = in[first + 4].toBool()};
}

PoolProblem pool_problem(Call& call, PoolProblem::Kind kind, const at::Tensor& x,
                         const at::Tensor& y, const PoolArguments& how) {
  return {.kind = kind,
          .x = call(x),
          .y = call(y),
          .kernel = how.kernel,
          .stride = how.stride,
          .padding = how.padding,
          .dilation = how.dilation};
}

/// max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil) gives {y, indices}. The
/// indices are oneDNN's workspace, bytes that only the gradient below reads.
std::optional<Results> max_pool(Arguments in, const CallKey& key) {
  const at::Tensor& x = in[0].toTensor();
  if (x.dim() != 4 || !is_readable(x)) return {};
  const PoolArguments how = max_pool_arguments(in, 1);
  const at::Tensor y =
      image_like(x, {x.size(0), x.size(1), how.count(x.size(2), 0), how.count(x.size(3), 1)});
  Call call(key);
  const PoolProblem problem = pool_problem(call, PoolProblem::Kind::kMax, x, y, how);
  Prepared* kernel = Prepared::of(call, problem);
  if (kernel == nullptr) return {};
  const at::Tensor workspace =
      at::empty({static_cast<int64_t>(kernel->workspace_bytes())}, x.options().dtype(at::kByte));
  kernel->run(call, {{Kernel::Part::kWorkspace, workspace}});
  return Results{y, workspace};
}

/// max_pool2d_with_indices_backward(g, x, kernel, stride, padding, dilation, ceil, indices).
std::optional<Results> max_pool_backward(Arguments in, const CallKey& key) {
  const at::Tensor& g = in[0].toTensor();
  const at::Tensor& x = in[1].toTensor();
  const at::Tensor& workspace = in[7].toTensor();
  if (workspace.scalar_type() != at::kByte) return {};  // indices of LibTorch's kernel
  const at::Tensor dense = is_readable(g) ? g : g.contiguous(x.suggest_memory_format());
  const at::Tensor dx = at::empty_like(x);
  Call call(key);
  PoolProblem problem =
      pool_problem(call, PoolProblem::Kind::kMax, x, dense, max_pool_arguments(in, 2));
  problem.dx = call(dx);
  Prepared* kernel = Prepared::of(call, problem);
  TORCH_CHECK(kernel != nullptr, "oneDNN has max-pooling, but not its gradient");
  kernel->run(call, {{Kernel::Part::kWorkspace, workspace}});
  return Results{dx};
}

/// (kernel, stride, padding, ceil, count_include_pad, divisor) of average pooling; nothing where
/// oneDNN divides by another number.
std::optional<std::pair<PoolProblem::Kind, PoolArguments>> avg_pool_arguments(Arguments in,
                                                                              std::size_t first) {
  const Pair kernel = pair_argument(in[first]);
  const PoolArguments how{.kernel = kernel,
                          .stride = pair_argument(in[first + 1], kernel),
                          .padding = pair_argument(in[first + 2]),
                          .dilation = {1, 1},
                          .ceil = in[first + 3].toBool()};
  const bool padded = in[first + 4].toBool();
  if (!in[first + 5].isNone() || (how.ceil && padded)) return {};
  return std::pair(padded ? PoolProblem::Kind::kPaddedMean : PoolProblem::Kind::kMean, how);
}

/// avg_pool2d(x, kernel, stride, padding, ceil, count_include_pad, divisor).
std::optional<Results> avg_pool(Arguments in, const CallKey& key) {
  const at::Tensor& x = in[0].toTensor();
  const auto found = avg_pool_arguments(in, 1);
  if (!found || x.dim() != 4 || !is_readable(x)) return {};
  const auto& [kind, how] = *found;
  const at::Tensor y =
      image_like(x, {x.size(0), x.size(1), how.count(x.size(2), 0), how.count(x.size(3), 1)});
  Call call(key);
  if (!run(call, pool_problem(call, kind, x, y, how))) return {};
  return Results{y};
}

/// avg_pool2d_backward(g, x, kernel, stride, padding, ceil, count_include_pad, divisor).
std::optional<Results> avg_pool_backward(Arguments in, const CallKey& key) {
  const at::Tensor& g = in[0].toTensor();
  const at::Tensor& x = in[1].toTensor();
  const auto found = avg_pool_arguments(in, 2);
  if (!found || x.dim() != 4 || !is_readable(g) || !is_readable(x)) return {};
  const auto& [kind, how] = *found;
  const at::Tensor dx = at::empty_like(x);
  Call call(key);
  PoolProblem problem = pool_problem(call, kind, x, g, how);
  problem.dx = call(dx);
  if (!run(call, problem)) return {};
  return Results{dx};
}

/// native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, epsilon) gives
/// {y, mean, 1 / sqrt(variance + epsilon)} of the batch.
std::optional<Results> batch_norm(Arguments in, const CallKey& key) {
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
  Call call(key);
  BatchNormProblem problem{.x = call(x),
                           .weight = call(weight),
                           .bias = call(in[2].toTensor()),
                           .y = call(y),
                           .epsilon = epsilon};
  if (!training) {
    problem.statistics = {.mean = call(running_mean), .variance = call(running_variance)};
    if (!run(call, problem)) return {};
    return Results{y, at::empty({0}, x.options()), at::empty({0}, x.options())};
  }
  Prepared* kernel = Prepared::of(call, problem);
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
std::optional<Results> batch_norm_backward(Arguments in, const CallKey& key) {
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
  Call call(key);
  BatchNormProblem problem{.x = call(x),
                           .weight = call(weight),
                           .bias = call(weight),  // not read
                           .y = call(g),
                           .epsilon = epsilon};
  problem.gradients = {.x = call(results[0]), .weight = call(results[1]), .bias = call(results[2])};
  Prepared* kernel = Prepared::of(call, problem);
  if (kernel == nullptr) return {};
  kernel->run(call, {{Kernel::Part::kMean, mean}, {Kernel::Part::kVariance, variance}});
  return results;
}

/// _softmax(x, dim, half_to_float) or, with `log`, _log_softmax.
template <bool log>
std::optional<Results> softmax(Arguments in, const CallKey& key) {
  const at::Tensor& x = in[0].toTensor();
  if (x.dim() == 0 || !is_readable(x) || in[2].toBool()) return {};
  const at::Tensor y = at::empty_like(x);
  const auto axis = static_cast<int>(at::maybe_wrap_dim(in[1].toInt(), x.dim()));
  Call call(key);
  if (!run(call, SoftmaxProblem{.log = log, .x = call(x), .y = call(y), .axis = axis})) return {};
  return Results{y};
}

}  // namespace

std::vector<Replacement> onednn_operators() {
  std::vector<Replacement> all{
      {"addmm", addmm},
      {"mm", mm},
      {"bmm", mm},
      {"convolution", convolution},
      {"convolution_backward", convolution_backward},
      {"max_pool2d_with_indices", max_pool},
      {"max_pool2d_with_indices_backward", max_pool_backward, {}, /*decided=*/true},
      {"avg_pool2d", avg_pool},
      {"avg_pool2d_backward", avg_pool_backward},
      {"native_batch_norm", batch_norm, /*written=*/{3, 4}},
      {"native_batch_norm_backward", batch_norm_backward},
      {"_softmax", softmax<false>},
      {"_log_softmax", softmax<true>}};
  for (auto& one : all) one.forget = Prepared::forget;
  return all;
}

}  // namespace fathom::ops
