#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/quantization.h"

namespace fathom::ops::onednn {

using dnnl::memory;

namespace {

/// Own memory with one number.
template <typename Number>
memory with_number(memory::data_type type, Number number) {
  memory one({{1}, type, memory::format_tag::a}, engine());
  *static_cast<Number*>(one.get_data_handle()) = number;
  return one;
}

}  // namespace

Quantization::Quantization(const QuantizationProblem& problem, int channels) {
  attributes.set_scales_mask(DNNL_ARG_SRC, 0);
  attributes.set_scales_mask(DNNL_ARG_WEIGHTS, channels);
  memories.emplace(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC,
                   with_number(memory::data_type::f32, problem.x_scale));
  memories.emplace(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS,
                   memory(layout(problem.w_scales), engine(), problem.w_scales.data));
  if (problem.x_zero == 0) return;
  attributes.set_zero_points_mask(DNNL_ARG_SRC, 0);
  memories.emplace(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC,
                   with_number(memory::data_type::s32, problem.x_zero));
}

std::unique_ptr<Kernel> make(const QuantizedMatmulProblem& problem) {
  std::vector<Argument> inputs{{DNNL_ARG_SRC, problem.a}, {DNNL_ARG_WEIGHTS, problem.b}};
  memory::desc bias;
  if (problem.bias) {
    bias = layout(*problem.bias).reshape({1, problem.bias->sizes.front()});
    inputs.emplace_back(DNNL_ARG_BIAS, *problem.bias, bias);
  }
  dnnl::primitive_attr attributes;
  Primitive::Memories memories;
  if (problem.quantization) {
    constexpr int kColumns = 2;
    const Quantization how(*problem.quantization, kColumns);
    attributes = how.attributes;
    memories = how.memories;
  }
  const memory::desc any_a = any_layout(problem.a);
  const memory::desc any_b = any_layout(problem.b);
  const memory::desc c = layout(problem.c);
  const Describe describe = [&] {
    return bias.is_zero()
               ? dnnl::matmul::primitive_desc(engine(), any_a, any_b, c, attributes)
               : dnnl::matmul::primitive_desc(engine(), any_a, any_b, bias, c, attributes);
  };
  return std::make_unique<Primitive>(
      describe, inputs, std::vector<Argument>{{DNNL_ARG_DST, problem.c}}, std::move(memories));
}

}  // namespace fathom::ops::onednn
