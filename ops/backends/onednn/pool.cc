#include "ops/backends/onednn/image_layout.h"
#include "ops/backends/onednn/kernels.h"

namespace fathom::ops::onednn {

using dnnl::memory;

namespace {

dnnl::algorithm pool_algorithm(PoolProblem::Kind kind) {
  switch (kind) {
    case PoolProblem::Kind::kMax:
      return dnnl::algorithm::pooling_max;
    case PoolProblem::Kind::kMean:
      return dnnl::algorithm::pooling_avg_exclude_padding;
    case PoolProblem::Kind::kPaddedMean:
      return dnnl::algorithm::pooling_avg_include_padding;
  }
  return dnnl::algorithm::undef;
}

}  // namespace

std::unique_ptr<Kernel> make(const PoolProblem& problem) {
  const Buffer& x = problem.x;
  const auto kind = pool_algorithm(problem.kind);
  const memory::dims kernel(problem.kernel.begin(), problem.kernel.end());
  const memory::dims strides(problem.stride.begin(), problem.stride.end());
  const memory::dims dilations{problem.dilation[0] - 1, problem.dilation[1] - 1};
  const memory::dims before(problem.padding.begin(), problem.padding.end());
  const memory::dims after = padding_after(x, problem.y, problem.kernel, problem.stride,
                                           problem.padding, problem.dilation);
  const auto forward = [&](const memory::desc& image) {
    return dnnl::pooling_forward::primitive_desc(engine(), dnnl::prop_kind::forward_training, kind,
                                                 image, any_layout(problem.y), strides, kernel,
                                                 dilations, before, after);
  };
  if (!problem.dx)
    return image_primitive(x, forward, {{DNNL_ARG_SRC, x}}, {{DNNL_ARG_DST, problem.y}});
  const auto backward = [&](const memory::desc& image) {
    const auto hint = forward(image);
    return dnnl::pooling_backward::primitive_desc(engine(), kind, image, hint.dst_desc(), strides,
                                                  kernel, dilations, before, after, hint);
  };
  const memory::desc image = image_layout(x, backward);
  Primitive forward_pass([&] { return forward(image); }, {{DNNL_ARG_SRC, x}}, {});
  forward_pass.run();
  Primitive::Memories workspace;
  if (problem.kind == PoolProblem::Kind::kMax)
    workspace.emplace(DNNL_ARG_WORKSPACE, forward_pass.argument(DNNL_ARG_WORKSPACE));
  return std::make_unique<Primitive>(
      [&] { return backward(image); }, std::vector<Argument>{{DNNL_ARG_DIFF_DST, problem.y}},
      std::vector<Argument>{{DNNL_ARG_DIFF_SRC, *problem.dx}}, workspace);
}

}  // namespace fathom::ops::onednn
