#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

algorithm algorithm_of(UnaryProblem::Kind kind) {
  using enum UnaryProblem::Kind;
  switch (kind) {
    case kClamp:
      return algorithm::eltwise_clip_v2;
    case kLinear:
      return algorithm::eltwise_linear;
    case kRelu:
      return algorithm::eltwise_relu;
    case kSigmoid:
      return algorithm::eltwise_logistic_use_dst_for_bwd;
    case kTanh:
      return algorithm::eltwise_tanh_use_dst_for_bwd;
    case kGeluErf:
      return algorithm::eltwise_gelu_erf;
    case kGeluTanh:
      return algorithm::eltwise_gelu_tanh;
    case kExp:
      return algorithm::eltwise_exp;
    case kSqrt:
      return algorithm::eltwise_sqrt;
    case kSquare:
      return algorithm::eltwise_square;
    case kSwish:
      return algorithm::eltwise_swish;
    case kSoftplus:
      return algorithm::eltwise_soft_relu;
  }
  return algorithm::undef;
}

/// Whether the gradient reads the result of the forward pass instead of x.
bool reads_result(UnaryProblem::Kind kind) {
  return kind == UnaryProblem::Kind::kSigmoid || kind == UnaryProblem::Kind::kTanh;
}

algorithm algorithm_of(BinaryProblem::Kind kind) {
  using enum BinaryProblem::Kind;
  switch (kind) {
    case kAdd:
      return algorithm::binary_add;
    case kSub:
      return algorithm::binary_sub;
    case kMul:
      return algorithm::binary_mul;
    case kDiv:
      return algorithm::binary_div;
  }
  return algorithm::undef;
}

}  // namespace

std::unique_ptr<Kernel> make(const UnaryProblem& problem) {
  const algorithm kind = algorithm_of(problem.kind);
  const float alpha = problem.constants[0];
  const float beta = problem.constants[1];
  const memory::desc all = layout(problem.x);
  const auto forward = [=] {
    return dnnl::eltwise_forward::primitive_desc(engine(), prop_kind::forward_training, kind, all,
                                                 all, alpha, beta);
  };
  const std::vector<Argument> x{{DNNL_ARG_SRC, problem.x}};
  if (!problem.dx)
    return std::make_unique<Primitive>(forward, x,
                                       std::vector<Argument>{{DNNL_ARG_DST, problem.y}});
  const auto backward = [=] {
    return dnnl::eltwise_backward::primitive_desc(engine(), kind, all, all, all, alpha, beta,
                                                  forward());
  };
  const Argument g{DNNL_ARG_DIFF_DST, problem.y};
  const std::vector<Argument> dx{{DNNL_ARG_DIFF_SRC, *problem.dx}};
  if (problem.x_is_result) {
    const int saved = reads_result(problem.kind) ? DNNL_ARG_DST : DNNL_ARG_SRC;
    return std::make_unique<Primitive>(backward, std::vector<Argument>{g, {saved, problem.x}}, dx);
  }
  Primitive forward_pass(forward, x, {});  // some gradients read the result of forward instead of x
  forward_pass.run();
  return std::make_unique<Primitive>(
      backward, std::vector<Argument>{g}, dx,
      Primitive::Memories{{DNNL_ARG_SRC, forward_pass.argument(DNNL_ARG_SRC)},
                          {DNNL_ARG_DST, forward_pass.argument(DNNL_ARG_DST)}});
}

std::unique_ptr<Kernel> make(const BinaryProblem& problem) {
  return std::make_unique<Primitive>(
      [&] {
        return dnnl::binary::primitive_desc(engine(), algorithm_of(problem.kind), layout(problem.a),
                                            layout(problem.b), layout(problem.out));
      },
      std::vector<Argument>{{DNNL_ARG_SRC_0, problem.a}, {DNNL_ARG_SRC_1, problem.b}},
      std::vector<Argument>{{DNNL_ARG_DST, problem.out}});
}

}  // namespace fathom::ops::onednn
