#include "ops/backends/onednn/image_layout.h"
#include "ops/backends/onednn/kernels.h"

namespace fathom::ops::onednn {

using dnnl::memory;
using dnnl::prop_kind;

std::unique_ptr<Kernel> make(const ResponseNormProblem& problem) {
  const Buffer& x = problem.x;
  const auto alpha = static_cast<float>(problem.alpha);
  const auto beta = static_cast<float>(problem.beta);
  const auto bias = static_cast<float>(problem.bias);
  constexpr auto kind = dnnl::algorithm::lrn_across_channels;
  const auto forward = [&](const memory::desc& image) {
    return dnnl::lrn_forward::primitive_desc(engine(), prop_kind::forward_training, kind, image,
                                             image, problem.size, alpha, beta, bias);
  };
  if (!problem.dx)
    return image_primitive(x, forward, {{DNNL_ARG_SRC, x}}, {{DNNL_ARG_DST, problem.y}});
  const auto backward = [&](const memory::desc& image) {
    return dnnl::lrn_backward::primitive_desc(engine(), kind, image, image, image, problem.size,
                                              alpha, beta, bias, forward(image));
  };
  const memory::desc image = image_layout(x, backward);
  Primitive forward_pass([&] { return forward(image); }, {{DNNL_ARG_SRC, x}}, {});
  forward_pass.run();
  Primitive::Memories kept{{DNNL_ARG_SRC, forward_pass.argument(DNNL_ARG_SRC)}};
  if (forward_pass.has(DNNL_ARG_WORKSPACE))
    kept.emplace(DNNL_ARG_WORKSPACE, forward_pass.argument(DNNL_ARG_WORKSPACE));
  return std::make_unique<Primitive>([&] { return backward(image); },
                                     std::vector<Argument>{{DNNL_ARG_DIFF_DST, problem.y}},
                                     std::vector<Argument>{{DNNL_ARG_DIFF_SRC, *problem.dx}}, kept);
}

std::unique_ptr<Kernel> make(const BatchNormProblem& problem) {
  using Flags = dnnl::normalization_flags;
  const Buffer& x = problem.x;
  const auto epsilon = static_cast<float>(problem.epsilon);
  Flags flags = Flags::use_scale | Flags::use_shift;
  std::vector<Argument> inputs{
      {DNNL_ARG_SRC, x}, {DNNL_ARG_SCALE, problem.weight}, {DNNL_ARG_SHIFT, problem.bias}};
  if (problem.statistics) {
    flags = flags | Flags::use_global_stats;
    inputs.emplace_back(DNNL_ARG_MEAN, problem.statistics->mean);
    inputs.emplace_back(DNNL_ARG_VARIANCE, problem.statistics->variance);
  }
  const auto forward = [&](const memory::desc& image) {
    return dnnl::batch_normalization_forward::primitive_desc(engine(), prop_kind::forward_training,
                                                             image, image, epsilon, flags);
  };
  if (!problem.gradients) return image_primitive(x, forward, inputs, {{DNNL_ARG_DST, problem.y}});
  const auto backward = [&](const memory::desc& image) {
    return dnnl::batch_normalization_backward::primitive_desc(
        engine(), prop_kind::backward, image, image, image, epsilon, flags, forward(image));
  };
  const memory::desc image = image_layout(x, backward);
  Primitive statistics([&] { return forward(image); }, inputs, {});
  statistics.run();
  return std::make_unique<Primitive>(
      [&] { return backward(image); },
      std::vector<Argument>{{DNNL_ARG_DIFF_DST, problem.y}, {DNNL_ARG_SCALE, problem.weight}},
      std::vector<Argument>{{DNNL_ARG_DIFF_SRC, problem.gradients->x},
                            {DNNL_ARG_DIFF_SCALE, problem.gradients->weight},
                            {DNNL_ARG_DIFF_SHIFT, problem.gradients->bias}},
      Primitive::Memories{{DNNL_ARG_SRC, statistics.argument(DNNL_ARG_SRC)},
                          {DNNL_ARG_MEAN, statistics.argument(DNNL_ARG_MEAN)},
                          {DNNL_ARG_VARIANCE, statistics.argument(DNNL_ARG_VARIANCE)}});
}

}  // namespace fathom::ops::onednn
