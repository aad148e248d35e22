#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "ops/backends/operators/onednn_calls.h"
#include "ops/core/call_args.h"
#include "ops/core/pool_windows.h"

namespace fathom::ops::onednn {
namespace {

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

/// The memory format of the results, as in LibTorch.
at::MemoryFormat memory_format(const at::Tensor& x, const at::Tensor& w) {
  constexpr auto last = at::MemoryFormat::ChannelsLast;
  const bool is_last = x.suggest_memory_format() == last || w.suggest_memory_format() == last;
  return is_last ? last : at::MemoryFormat::Contiguous;
}

/// Computes what `writes` says; bias may be undefined.
bool convolve(KeptPointer& kept, ConvolutionProblem::Writes writes, const at::Tensor& x,
              const at::Tensor& w, const at::Tensor& y, const at::Tensor& bias,
              const ConvolutionArguments& how) {
  Call call(kept, static_cast<int64_t>(writes));
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
  return run(call, problem, {}).has_value();
}

}  // namespace

/// convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups).
std::optional<Results> convolution(Arguments in, KeptPointer& kept) {
  const at::Tensor& x = in[0].toTensor();
  const at::Tensor& w = in[1].toTensor();
  const at::Tensor bias = given(in[2]) ? in[2].toTensor() : at::Tensor();
  if (x.dim() != 4 || !is_readable(x) || !is_readable(w)) return {};
  const auto how = ConvolutionArguments::of(in, 3);
  if (!how) return {};
  const PoolWindows windows{.kernel = {w.size(2), w.size(3)},
                            .stride = how->stride,
                            .padding = how->padding,
                            .dilation = how->dilation};
  Sizes sizes = windows.output(x.sizes().vec());
  sizes[1] = w.size(0);
  const at::Tensor y = at::empty(sizes, x.options(), memory_format(x, w));
  if (!convolve(kept, ConvolutionProblem::Writes::kY, x, w, y, bias, *how)) return {};
  return Results{y};
}

/// convolution_backward(g, x, weight, bias_sizes, stride, padding, dilation, transposed,
/// output_padding, groups, output_mask) gives {dx, dweight, dbias}.
std::optional<Results> convolution_backward(Arguments in, KeptPointer& kept) {
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
    results[0] = at::empty_like(x, memory_format(x, w));
    if (!convolve(kept, kX, results[0], w, g, {}, *how)) return {};
  }
  if (wanted[1] || wanted[2]) {
    results[1] = at::empty_like(w, memory_format(x, w));
    if (wanted[2]) results[2] = at::empty({w.size(0)}, w.options());
    if (!convolve(kept, kW, x, results[1], g, results[2], *how)) return {};
  }
  return results;
}

}  // namespace fathom::ops::onednn
