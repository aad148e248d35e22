#include "ops/backends/onednn/image_layout.h"
#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/quantization.h"

namespace fathom::ops::onednn {
namespace {

using dnnl::memory;

/// oneDNN's weights have a dimension for the groups.
memory::desc grouped(const memory::desc& weights, int64_t groups) {
  memory::dims sizes = weights.get_dims();
  sizes[0] /= groups;
  sizes.insert(sizes.begin(), groups);
  return weights.reshape(sizes);
}

/// Whether images with the channels last are reordered to blocked channels, because oneDNN then
/// saves more time than the reorders take: in the gradient of a bias, and of most filters larger
/// than 1 x 1. Outputs and gradients of images take about as long in both layouts.
bool wants_blocked_channels(const ConvolutionProblem& problem) {
  const auto& filter = problem.w.sizes;
  return problem.writes == ConvolutionProblem::Writes::kW &&
         (problem.bias || filter[2] * filter[3] > 1);
}

/// Whether oneDNN is faster with x and y exchanged. The gradient of a 1 x 1 filter is the product
/// of two matrices of pixels by channels. With the channels last, oneDNN takes up to 1.5 times as
/// long where y has more channels than x as where it has fewer.
bool gains_by_exchange(const ConvolutionProblem& problem) {
  using Pair = std::array<int64_t, 2>;
  const auto& filter = problem.w.sizes;
  return problem.writes == ConvolutionProblem::Writes::kW && !problem.bias && problem.groups == 1 &&
         filter[2] * filter[3] == 1 && problem.stride == Pair{1, 1} &&
         problem.padding == Pair{0, 0} && filter[0] > filter[1] && is_channels_last(problem.x) &&
         is_channels_last(problem.y);
}

/// The problem that reads y as the input and x as the output's gradient. It writes the transposed
/// gradient of the filter, thus the same memory with other strides.
ConvolutionProblem exchanged(ConvolutionProblem problem) {
  std::swap(problem.x, problem.y);
  std::swap(problem.w.sizes[0], problem.w.sizes[1]);
  std::swap(problem.w.strides[0], problem.w.strides[1]);
  return problem;
}

/// `attributes` and `memories` are those of a forward pass.
std::unique_ptr<Kernel> make_convolution(const ConvolutionProblem& problem,
                                         const dnnl::primitive_attr& attributes,
                                         const Primitive::Memories& memories) {
  const Buffer& x = problem.x;
  const Buffer& w = problem.w;
  const Buffer& y = problem.y;
  const auto& bias = problem.bias;
  const bool keeps_layout =
      is_channels_last(x) && is_channels_last(y) && !wants_blocked_channels(problem);
  const memory::desc x_layout = keeps_layout ? layout(x) : any_layout(x);
  const memory::desc y_layout = keeps_layout ? layout(y) : any_layout(y);
  const memory::desc plain_w = problem.groups > 1 ? grouped(layout(w), problem.groups) : layout(w);
  const memory::desc any_w(plain_w.get_dims(), plain_w.get_data_type(), memory::format_tag::any);
  const memory::desc plain_bias = bias ? layout(*bias) : memory::desc();
  const memory::dims strides(problem.stride.begin(), problem.stride.end());
  const memory::dims dilations{problem.dilation[0] - 1, problem.dilation[1] - 1};
  const memory::dims before(problem.padding.begin(), problem.padding.end());
  const memory::dims after = padding_after(x, y, {w.sizes[2], w.sizes[3]}, problem.stride,
                                           problem.padding, problem.dilation);
  constexpr auto direct = dnnl::algorithm::convolution_direct;

  using Writes = ConvolutionProblem::Writes;
  const auto forward = [&] {
    return dnnl::convolution_forward::primitive_desc(engine(), dnnl::prop_kind::forward_training,
                                                     direct, x_layout, any_w, plain_bias, y_layout,
                                                     strides, dilations, before, after, attributes);
  };
  if (problem.writes == Writes::kY) {
    std::vector<Argument> inputs{{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w, plain_w}};
    if (bias) inputs.emplace_back(DNNL_ARG_BIAS, *bias);
    return std::make_unique<Primitive>(forward, inputs, std::vector<Argument>{{DNNL_ARG_DST, y}},
                                       memories);
  }
  if (problem.writes == Writes::kX) {
    return std::make_unique<Primitive>(
        [&] {
          return dnnl::convolution_backward_data::primitive_desc(engine(), direct, x_layout, any_w,
                                                                 y_layout, strides, dilations,
                                                                 before, after, forward());
        },
        std::vector<Argument>{{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WEIGHTS, w, plain_w}},
        std::vector<Argument>{{DNNL_ARG_DIFF_SRC, x}});
  }
  std::vector<Argument> outputs{{DNNL_ARG_DIFF_WEIGHTS, w, plain_w}};
  if (bias) outputs.emplace_back(DNNL_ARG_DIFF_BIAS, *bias);
  return std::make_unique<Primitive>(
      [&] {
        return dnnl::convolution_backward_weights::primitive_desc(
            engine(), direct, x_layout, any_w, plain_bias, y_layout, strides, dilations, before,
            after, forward());
      },
      std::vector<Argument>{{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, y}}, outputs);
}

}  // namespace

std::unique_ptr<Kernel> make(const ConvolutionProblem& problem) {
  return make_convolution(gains_by_exchange(problem) ? exchanged(problem) : problem, {}, {});
}

std::unique_ptr<Kernel> make(const QuantizedConvolutionProblem& problem) {
  // oneDNN's weights have a dimension for the groups before that of the channels.
  const int channels = problem.convolution.groups > 1 ? 3 : 1;
  const Quantization how(problem.quantization, channels);
  return make_convolution(problem.convolution, how.attributes, how.memories);
}

}  // namespace fathom::ops::onednn
