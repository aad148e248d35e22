#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/primitive.h"
#include "ops/backends/onednn/quantization.h"

namespace fathom::ops::onednn {
namespace {

using dnnl::memory;

/// What a product of a [..., M, K] and b [..., K, N] has besides.
struct Besides {
  std::optional<Buffer> bias = {};  ///< [N]
  std::vector<Argument> inputs = {};
  dnnl::primitive_attr attributes = {};
  Primitive::Memories memories = {};
};

std::unique_ptr<Kernel> make_product(const Buffer& a, const Buffer& b, const Buffer& c,
                                     const Besides& besides) {
  std::vector<Argument> inputs{{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}};
  inputs.insert(inputs.end(), besides.inputs.begin(), besides.inputs.end());
  memory::desc bias;
  if (besides.bias) {
    memory::dims sizes(c.sizes.size(), 1);
    sizes.back() = c.sizes.back();
    bias = layout(*besides.bias).reshape(sizes);
    inputs.emplace_back(DNNL_ARG_BIAS, *besides.bias, bias);
  }
  const memory::desc any_a = any_layout(a);
  const memory::desc any_b = any_layout(b);
  const memory::desc product = layout(c);
  const dnnl::primitive_attr& attributes = besides.attributes;
  const Describe describe = [&] {
    return bias.is_zero()
               ? dnnl::matmul::primitive_desc(engine(), any_a, any_b, product, attributes)
               : dnnl::matmul::primitive_desc(engine(), any_a, any_b, bias, product, attributes);
  };
  return std::make_unique<Primitive>(describe, inputs, std::vector<Argument>{{DNNL_ARG_DST, c}},
                                     besides.memories);
}

}  // namespace

std::unique_ptr<Kernel> make(const MatmulProblem& problem) {
  const auto& addend = problem.addend;
  Besides besides;
  if (addend && addend->sizes.size() == 1) {
    besides.bias = addend;
  } else if (addend) {
    dnnl::post_ops after;
    after.append_binary(dnnl::algorithm::binary_add, layout(*addend));
    besides.attributes.set_post_ops(after);
    besides.inputs.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, *addend);
  }
  return make_product(problem.a, problem.b, problem.c, besides);
}

std::unique_ptr<Kernel> make(const QuantizedMatmulProblem& problem) {
  Besides besides{.bias = problem.bias};
  if (problem.quantization) {
    constexpr int kColumns = 2;
    const Quantization how(*problem.quantization, kColumns);
    besides.attributes = how.attributes;
    besides.memories = how.memories;
  }
  return make_product(problem.a, problem.b, problem.c, besides);
}

}  // namespace fathom::ops::onednn
