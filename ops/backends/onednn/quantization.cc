#include "ops/backends/onednn/quantization.h"

namespace fathom::ops::onednn {
namespace {

using dnnl::memory;

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

}  // namespace fathom::ops::onednn
