#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {

using dnnl::memory;

std::unique_ptr<Kernel> make(const MatmulProblem& problem) {
  const Buffer& c = problem.c;
  const auto& addend = problem.addend;
  const memory::desc product = layout(c);
  std::vector<Argument> inputs{{DNNL_ARG_SRC, problem.a}, {DNNL_ARG_WEIGHTS, problem.b}};
  memory::desc bias;
  dnnl::post_ops after;
  if (addend && addend->sizes.size() == 1) {
    memory::dims sizes(c.sizes.size(), 1);
    sizes.back() = c.sizes.back();
    bias = layout(*addend).reshape(sizes);
    inputs.emplace_back(DNNL_ARG_BIAS, *addend, bias);
  } else if (addend) {
    after.append_binary(dnnl::algorithm::binary_add, layout(*addend));
    inputs.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, *addend);
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  const memory::desc any_a = any_layout(problem.a);
  const memory::desc any_b = any_layout(problem.b);
  const Describe describe = [&] {
    return bias.is_zero()
               ? dnnl::matmul::primitive_desc(engine(), any_a, any_b, product, attributes)
               : dnnl::matmul::primitive_desc(engine(), any_a, any_b, bias, product, attributes);
  };
  return std::make_unique<Primitive>(describe, inputs, std::vector<Argument>{{DNNL_ARG_DST, c}});
}

}  // namespace fathom::ops::onednn
