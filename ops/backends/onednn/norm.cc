#include <dlfcn.h>

#include "ops/backends/onednn/image_layout.h"
#include "ops/backends/onednn/kernels.h"

namespace fathom::ops::onednn {

using dnnl::memory;
using dnnl::prop_kind;

namespace {

using Flags = dnnl::normalization_flags;

const Flags kScaleAndShift = Flags::use_scale | Flags::use_shift;

/// The inputs of a normalization's forward pass.
template <typename NormProblem>
std::vector<Argument> inputs_of(const NormProblem& problem) {
  return {
      {DNNL_ARG_SRC, problem.x}, {DNNL_ARG_SCALE, problem.weight}, {DNNL_ARG_SHIFT, problem.bias}};
}

/// A normalization's backward pass, which reads `parameters`. Runs `forward` once on `inputs`: it
/// computes the statistics.
template <typename NormProblem>
std::unique_ptr<Kernel> backward_pass(const NormProblem& problem, const Describe& forward,
                                      const std::vector<Argument>& inputs, const Describe& backward,
                                      std::vector<Argument> parameters) {
  Primitive statistics(forward, inputs, {});
  statistics.run();
  parameters.emplace_back(DNNL_ARG_SRC, problem.x);
  parameters.emplace_back(DNNL_ARG_DIFF_DST, problem.y);
  return std::make_unique<Primitive>(
      backward, parameters,
      std::vector<Argument>{{DNNL_ARG_DIFF_SRC, problem.gradients->x},
                            {DNNL_ARG_DIFF_SCALE, problem.gradients->weight},
                            {DNNL_ARG_DIFF_SHIFT, problem.gradients->bias}},
      Primitive::Memories{{DNNL_ARG_MEAN, statistics.argument(DNNL_ARG_MEAN)},
                          {DNNL_ARG_VARIANCE, statistics.argument(DNNL_ARG_VARIANCE)}});
}

}  // namespace

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
  const Buffer& x = problem.x;
  const auto epsilon = static_cast<float>(problem.epsilon);
  Flags flags = kScaleAndShift;
  std::vector<Argument> inputs = inputs_of(problem);
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
  return backward_pass(
      problem, [&] { return forward(image); }, inputs, [&] { return backward(image); },
      {{DNNL_ARG_SCALE, problem.weight}});
}

std::unique_ptr<Kernel> make(const LayerNormProblem& problem) {
  const auto epsilon = static_cast<float>(problem.epsilon);
  const memory::desc rows = layout(problem.x);
  const std::vector<Argument> inputs = inputs_of(problem);
  const auto forward = [&] {
    return dnnl::layer_normalization_forward::primitive_desc(engine(), prop_kind::forward_training,
                                                             rows, rows, epsilon, kScaleAndShift);
  };
  if (!problem.gradients)
    return std::make_unique<Primitive>(forward, inputs,
                                       std::vector<Argument>{{DNNL_ARG_DST, problem.y}});
  const auto backward = [&] {
    return dnnl::layer_normalization_backward::primitive_desc(
        engine(), prop_kind::backward, rows, rows, rows, epsilon, kScaleAndShift, forward());
  };
  // oneDNN demands the bias, although no gradient depends on it.
  return backward_pass(problem, forward, inputs, backward,
                       {{DNNL_ARG_SCALE, problem.weight}, {DNNL_ARG_SHIFT, problem.bias}});
}

std::unique_ptr<Kernel> make(const GroupNormProblem& problem) {
  // The headers of oneDNN before 3.3 do not declare this function.
  using Create =
      dnnl_status_t (*)(dnnl_primitive_desc_t * made, dnnl_engine_t engine, dnnl_prop_kind_t pass,
                        const_dnnl_memory_desc_t x, const_dnnl_memory_desc_t y, dnnl_dim_t groups,
                        float epsilon, unsigned flags, const_dnnl_primitive_attr_t attributes);
  const auto create = reinterpret_cast<Create>(
      dlsym(RTLD_DEFAULT, "dnnl_group_normalization_forward_primitive_desc_create"));
  if (create == nullptr) throw NotSupported("this oneDNN has no group normalization");
  const auto describe = [&](const memory::desc& image) {
    dnnl_primitive_desc_t made = nullptr;
    dnnl::error::wrap_c_api(create(&made, engine().get(), dnnl_forward_training, image.get(),
                                   image.get(), problem.groups, static_cast<float>(problem.epsilon),
                                   dnnl_use_scale | dnnl_use_shift, nullptr),
                            "could not describe a group normalization");
    dnnl::primitive_desc_base description;
    description.reset(made);
    return description;
  };
  return image_primitive(problem.x, describe, inputs_of(problem), {{DNNL_ARG_DST, problem.y}});
}

}  // namespace fathom::ops::onednn
